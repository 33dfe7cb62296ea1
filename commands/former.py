"""The commands and options of operant 0.3, and what to write now. It goes with 0.5."""

from __future__ import annotations

from ..shared.errors import UsageError

NOW = {
    "note": "edit RUN --note TEXT",
    "tag": "edit RUN --tag TAG, or --untag TAG",
    "rename": "edit RUN --rename NAME, or --rename none",
    "archive": "edit RUN --archive, or --unarchive",
    "console": "logs [RUN]",
    "snapshot": "monitor RUN OTHER ... --once -o FILE.svg",
    "autotune": "bench CONFIG --tune -o FILE",
    "bench env": "bench CONFIG",
    "bench rollout": "bench CONFIG",
    "bench train": "bench CONFIG",
    "bench --num-envs": "bench CONFIG --set num_envs=N",
    "sweep begin": "sweep CONFIG --param KEY=RANGE",
    "sweep list": "runs --sweeps",
    "sweep status": "status NAME",
    "sweep stop": "stop NAME",
    "sweep enqueue": "sweep --resume NAME --try KEY=VALUE,...",
    "sweep --maximize": "sweep CONFIG --objective METRIC, or --objective max:METRIC",
    "sweep --minimize": "sweep CONFIG --objective METRIC, or --objective min:METRIC",
    "sweep --no-prune": "sweep CONFIG --prune-after none",
    "train --config": "train CONFIG",
    "train --hardware": "train CONFIG --with NAME",
    "train --help-config": "train --keys [PREFIX]",
    "eval --latest": "eval latest",
    "eval --trained": "eval zoo:ENV",
    "play --latest": "play latest",
    "play --trained": "play zoo:ENV",
    "play --to": "play RUN -o FILE.gif, or FILE.mp4",
    "trace --latest": "trace latest",
    "record --latest": "record latest",
    "export --to": "export RUN -o FILE.csv, .parquet, .onnx or tensorboard/",
    "monitor --json": "status RUN --json, with --follow until the run ends",
    "monitor --follow": "status RUN --follow --json",
    "runs --filter": "runs 'WORDS'",
    "runs --archived": "runs archived:yes",
    "rm --state": "rm --filter state:STATE",
    "rm --archived": "rm --filter archived:yes",
    "tinyphysics download --to": "tinyphysics download -o DIR",
    "tinyphysics eval --report": "tinyphysics eval -o FILE.html",
}


def check_is_not_former(command: str) -> None:
    """Raises UsageError for a former command or option, such as `export --to`."""
    if command in NOW:
        raise UsageError(f"`operant {command}` is now `operant {NOW[command]}`")
