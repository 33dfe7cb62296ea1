"""Hugging Face's Trainer, in whose place stands something small that calls back as it does: the
library is no dependency of the tests.
"""

from __future__ import annotations

LIKE_TRANSFORMERS = """
import sys, types
from types import SimpleNamespace

transformers = types.ModuleType("transformers")
class TrainerCallback:
    pass
transformers.TrainerCallback = TrainerCallback
sys.modules["transformers"] = transformers

from operant.integrations import TrainerCallback

class Arguments:
    def to_sanitized_dict(self):
        return {"learning_rate": 0.125}

callback = TrainerCallback("tuned")
state = SimpleNamespace(is_world_process_zero=RANK == 0, global_step=0, max_steps=40)
model = SimpleNamespace(config=SimpleNamespace(to_dict=lambda: {"num_layers": 2}))
about = dict(model=model, optimizer=None, train_dataloader=None)
callback.on_train_begin(Arguments(), state, SimpleNamespace(), **about)
for state.global_step in (10, 20):
    logs = {"loss": 1 / state.global_step, "grad_norm": 0.5, "epoch": 0.5}
    callback.on_log(Arguments(), state, SimpleNamespace(), logs=logs, **about)
callback.on_log(Arguments(), state, SimpleNamespace(), logs={"eval_loss": 0.75, "epoch": 0.5})
callback.on_train_end(Arguments(), state, SimpleNamespace(), **about)
"""


def test_what_the_trainer_logs_is_published_with_its_step(run_script, seen):
    done = run_script(f"RANK = 0{LIKE_TRANSFORMERS}")
    assert done.returncode == 0, done.stderr
    metrics = seen.status.metrics
    assert (metrics["train/loss"], metrics["eval/loss"]) == (0.05, 0.75)
    assert metrics["progress/fraction"] == 0.5  # 20 of 40 steps
    assert seen.status.env_steps == 20
    manifest = seen.run.manifest()
    assert manifest["config"] == {"num_layers": 2, "learning_rate": 0.125}
    assert (manifest["name"], seen.status.state) == ("tuned", "ended")


def test_other_processes_than_the_first_begin_no_run(run_script):
    from operant.shared.runs.find_runs import list_runs

    done = run_script(f"RANK = 1{LIKE_TRANSFORMERS}")
    assert done.returncode == 0, done.stderr
    assert list_runs() == []
