"""The model card of a shared policy: README.md, as the Hugging Face Hub shows it."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from ....shared.runs.run_folder import SHARED_CODE
from ....shared.text.harmless import harmless_toml, one_line
from ...config.stored_code import module_of
from ...settings.own_code import PREFIX

CARD_FILE = "README.md"


@dataclass(frozen=True)
class Results:
    """The return of a policy over greedy episodes, and the newest evaluation of each seed that the
    same configuration was trained with.
    """

    mean: float
    deviation: float
    num_episodes: int
    seeds: Mapping[int, float]


def model_card(
    manifest: Mapping[str, Any],
    results: Results,
    source: str,
    env_steps: int,
    code: Sequence[str],
    files: Sequence[str],
) -> str:
    """The Markdown of a card. `manifest` is that of the policy's folder, `source` what
    `operant pull` takes, `code` what the configuration imports of its author's own, `files` those
    of its modules that are in the folder.
    """
    config = manifest["config"]
    env, algorithm = str(config["env"]), str(config["algorithm"])
    score = f"{results.mean:.2f} +/- {results.deviation:.2f}"
    versions = manifest.get("versions", {})
    rows = {
        "environment": f"`{env}`",
        "algorithm": algorithm,
        "return": f"{score} over {results.num_episodes} greedy episodes",
        **_seeds_row(results.seeds),
        "env steps": f"{env_steps:,}",
        "seed": manifest.get("seed", config.get("seed", "")),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    table = "\n".join(f"| {name} | {_in_cell(value)} |" for name, value in rows.items())
    needs = "".join(f"\n{_need(name, files)}\n" for name in code)
    settings = harmless_toml(tomli_w.dumps(config))
    return f"""---
{_front_matter(env, algorithm, score)}
---

# {algorithm} on {env}

A policy trained by operant.

| | |
|---|---|
{table}

## Use it

In operant's folder; from a wheel, `pip install 'operant_rl-VERSION-py3-none-any.whl[hub]'`:

```sh
pip install -e '.[hub]'
operant pull {shlex.quote(source)}
operant play latest
```

```python
import operant

policy = operant.load(operant.pull({json.dumps(source)}))
actions = policy.act(observations)
```
{needs}
## Settings

```toml
{settings}```
"""


def _in_cell(value: Any) -> str:
    """`value` in a cell of a table: versions and seeds may be those of a policy that was pulled."""
    return one_line(str(value)).replace("|", "\\|")


def _need(name: str, files: Sequence[str]) -> str:
    """A sentence for code of the author that the policy needs."""
    if name.startswith(PREFIX):
        return (
            f"It needs `{name.removeprefix(PREFIX)}`, which a script of its author defines: define "
            "it too, and pass it to `operant.load`."
        )
    path = f"{SHARED_CODE}/{module_of(name).partition('.')[0]}"
    matches = [file for file in files if file == f"{path}.py" or file.startswith(f"{path}/")]
    if matches:
        place = f"whose code begins in `{matches[0]}`: read it, copy it into your folder, then"
    else:
        place = "which is not part of this folder: ask its author for it;"
    return f"It needs `{name}`, {place} `--trust-code` lets it run."


def _front_matter(env: str, algorithm: str, score: str) -> str:
    """The facts of a card that the Hub reads: JSON, which is YAML with every name quoted."""
    result = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"type": env, "name": env},
        "metrics": [{"type": "mean_reward", "name": "mean_reward", "value": score}],
    }
    facts = {
        "library_name": "operant",
        "tags": ["reinforcement-learning", "operant", algorithm, env],
        "model-index": [{"name": f"{algorithm} on {env}", "results": [result]}],
    }
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in facts.items())


def _seeds_row(seeds: Mapping[int, float]) -> dict[str, str]:
    if len(seeds) < 2:
        return {}
    mean, deviation = statistics.fmean(seeds.values()), statistics.stdev(seeds.values())
    names = ", ".join(map(str, seeds))
    return {"over seeds": f"{mean:.2f} +/- {deviation:.2f} over the {len(seeds)} seeds {names}"}
