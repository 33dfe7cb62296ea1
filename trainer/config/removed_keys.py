"""Keys of 0.3 that 0.4 does not have, and what to write now. The table goes with 0.5."""

from __future__ import annotations

GONE = "gone: "

# `*` stands for the algorithm's own table. The value is the new key, or "gone: " and the reason.
REMOVED_KEYS = {
    "hardware": GONE + "write --with NAME, in Python presets=[NAME]",
    "evaluation.time_fraction": "evaluation.every_env_steps",
    "normalization.reward_centring": GONE + "use normalization.reward",
    "ranks.silent_for_s": GONE + "a rank counts as lost after 7 s of silence",
    "recorder.on": GONE + "every run has a recorder",
    "recorder.wait_s": GONE + "a run that ends waits up to 2 s for its recorder",
    "trace.keep": GONE + "the newest 6 traces are kept",
    "episodes.keep": GONE + "the newest 20 episodes are kept",
    "episodes.max_steps": GONE + "an episode has up to 1,000 env steps",
    "ppo.clip_schedule": GONE + "ppo.clip_coef stays as it is over the run",
    "ppo.recompute_advantages": GONE + "advantages are computed once for each rollout",
    "ppo.recompute_returns": GONE + "returns are computed once for each rollout",
    "ppo.rho_clip": GONE + "there is no V-trace",
    "ppo.c_clip": GONE + "there is no V-trace",
    "ppo.importance_exponent": GONE + "it is 0.4 at first and rises to 1",
    "replay.importance_exponent": GONE + "it is 0.4 at first and rises to 1",
    "kickstart.act_prob": GONE + "teachers do not act",
    "kickstart.fade_fraction": GONE + "it is 0.5",
    "*.nan_updates": GONE + "an update with NaN or infinity is skipped",
    "*.learn_alpha": GONE + 'alpha = "auto" is tuned, a number stays',
    "*.target_every": GONE + "targets move with every update of the actor",
}


def removed_key(key: str, algorithm: str) -> str:
    """The end of an error's text for a key that 0.3 had; empty for other keys."""
    table, _, name = key.rpartition(".")
    names = (key, f"*.{name}") if table == algorithm else (key,)
    now = next((REMOVED_KEYS[name] for name in names if name in REMOVED_KEYS), "")
    now = now.replace("*", algorithm)
    if now.startswith(GONE):
        return f" is {now}"
    return f" is now '{now}'" if now else ""
