"""Plant known faults one by one and say which of them the tests notice.

    python tools/mutations.py [NUMBER ...] [--log FILE]

Run it in a clean checkout of its own: each fault is written into the source, the tests named beside
it run until the first failure, and the source is put back. A fault is killed when a test fails.
A fault whose text is no longer there is "gone": write it anew for the code that took its place.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 900


class Fault(NamedTuple):
    """Text of a file of the product, what stands there with the fault, and tests that may notice."""

    path: str
    text: str
    faulty: str
    tests: str


TRAINER, SHARED, MONITOR = "tests/trainer/", "tests/shared/", "tests/monitor/"
FAULTS = (
    # Returns and losses: sign, off by one, polarity.
    Fault("trainer/returns/gae.py", "following = torch.addcmul(deltas[t], decays[t], following", "following = torch.addcmul(deltas[t], decays[t - 1], following", TRAINER + "returns/test_gae.py"),
    Fault("trainer/returns/gae.py", "return advantages, advantages + values", "return advantages, advantages - values", TRAINER + "returns/test_gae.py"),
    Fault("trainer/returns/q_lambda.py", "following = bootstrap[-1]", "following = bootstrap[0]", TRAINER + "returns/test_q_lambda.py"),
    Fault("trainer/returns/q_lambda.py", "(~(terminated | truncated))", "(~(terminated & truncated))", TRAINER + "returns/test_q_lambda.py"),
    Fault("trainer/returns/distributional.py", "places + lowest / step", "places - lowest / step", TRAINER + "returns/test_distributional.py"),
    Fault("trainer/returns/distributional.py", "(errors < 0)", "(errors > 0)", TRAINER + "returns/test_distributional.py"),
    Fault("trainer/returns/losses.py", "values.min(0, keepdim=True)", "values.max(0, keepdim=True)", TRAINER + "returns " + TRAINER + "algorithms/test_off_policy.py"),
    Fault("trainer/returns/td.py", "values.amin(0) - alpha * log_probs", "values.amin(0) + alpha * log_probs", TRAINER + "returns/test_td.py"),
    Fault("trainer/algorithms/ppo.py", "torch.minimum(ratios *", "torch.maximum(ratios *", TRAINER + "algorithms/test_ppo.py"),
    Fault("trainer/algorithms/ppo.py", "(ratios - 1) - log_ratios", "(ratios - 1) + log_ratios", TRAINER + "algorithms/test_ppo.py"),
    Fault("trainer/algorithms/ppo.py", "-objective.sum(), 0.5", "-objective.sum(), 1.0", TRAINER + "algorithms/test_ppo.py"),
    # Compiled PPO against its twin in PyTorch.
    Fault("trainer/algorithms/compiled_ppo/gradients.py", "error = value - samples.returns[sample]", "error = samples.returns[sample] - value", TRAINER + "algorithms/compiled_ppo/test_learning.py::test_an_update_is_pytorchs"),
    Fault("trainer/policies/compiled/heads/categorical.py", "(chosen - probability)", "(probability - chosen)", TRAINER + "algorithms/compiled_ppo/test_learning.py::test_an_update_is_pytorchs"),
    Fault("trainer/algorithms/compiled_ppo/gradients.py", "_ONE - terms.clip_coef), _ONE + terms.clip_coef", "_ONE - terms.clip_coef), _ONE + terms.value_clip", TRAINER + "algorithms/compiled_ppo/test_learning.py::test_an_update_is_pytorchs"),
    Fault("trainer/algorithms/compiled_ppo/gradients.py", "-terms.entropy_coef * weight", "terms.entropy_coef * weight", TRAINER + "algorithms/compiled_ppo/test_learning.py::test_an_update_is_pytorchs"),
    # Replay: bounds, ends of episodes, priorities.
    Fault("trainer/memory/replay/sampling.py", "if ending == TERMINATED:\n            return True, return_, 0.0", "if ending == TERMINATED:\n            return True, return_, discount", TRAINER + "memory/replay/test_replay.py"),
    Fault("trainer/memory/replay/sampling.py", "        if slot == head:\n            break\n", "", TRAINER + "memory/replay/test_replay.py"),
    Fault("trainer/memory/replay/sampling.py", "discount *= gamma", "discount = gamma", TRAINER + "memory/replay/test_replay.py"),
    Fault("trainer/memory/replay/priorities.py", "<= wanted else", "< wanted else", TRAINER + "memory/replay/test_priorities.py"),
    Fault("trainer/memory/replay/priorities.py", "np.float64(lowest) / np.float64(leaf)", "np.float64(leaf) / np.float64(lowest)", TRAINER + "memory/replay/test_priorities.py"),
    # Algorithms off policy: missing detach, wrong critic, wrong axis.
    Fault("trainer/algorithms/td3.py", "return values.amin(0)", "return values.mean(0)", TRAINER + "algorithms/test_replay_losses.py"),
    Fault("trainer/algorithms/sac.py", "figures[\"policy/entropy\"].view(1) - self.target_entropy", "self.target_entropy - figures[\"policy/entropy\"].view(1)", TRAINER + "algorithms/test_off_policy.py::test_alpha_pays_more_for_entropy_while_there_is_too_little"),
    Fault("trainer/algorithms/value_based.py", "if self.section.double else target_values", "if not self.section.double else target_values", TRAINER + "algorithms/test_replay_losses.py::test_dqn_follows_the_largest_value_of_its_target_network"),
    Fault("trainer/algorithms/value_based.py", "(batch.weights / len(batch))", "(1.0 / batch.weights / len(batch))", TRAINER + "algorithms/test_off_policy.py::test_samples_count_in_the_gradient_by_their_weights"),
    Fault("trainer/algorithms/optimizer.py", "(max_norm / (norm + 1e-8)).clamp(max=1.0)", "(max_norm / (norm + 1e-8)).clamp(min=1.0)", TRAINER + "algorithms/test_optimizer.py"),
    # Policies: masks, normalisers, distributions.
    Fault("trainer/policies/policy.py", "obs[..., -mask_size:] == 0, ILLEGAL", "obs[..., -mask_size:] != 0, ILLEGAL", TRAINER + "algorithms/test_masked_targets.py"),
    Fault("trainer/policies/normalizers.py", "delta**2 * count * count_2 / total", "delta**2 * count_2 / total", TRAINER + "policies/test_normalizers.py"),
    Fault("trainer/policies/normalizers.py", "running.masked_fill_(done, 0.0)", "running.masked_fill_(~done, 0.0)", TRAINER + "policies/test_normalizers.py"),
    Fault("trainer/policies/distributions/categorical.py", "entropy = -(log_probs.exp()", "entropy = (log_probs.exp()", TRAINER + "policies/distributions"),
    Fault("trainer/memory/rollout.py", "next_values = torch.where(self.truncated, by_step, next_values)", "next_values = torch.where(self.terminated, by_step, next_values)", TRAINER + "collecting/test_on_gpu.py::test_several_time_limits_in_one_environment_keep_their_order"),
    Fault("trainer/memory/rollout.py", "return dones if self.valid is None else dones | ~self.valid[t, rows]", "return dones if self.valid is None else dones | self.valid[t, rows]", TRAINER + "algorithms/test_rows.py::test_what_a_dead_step_shows_is_not_remembered"),
    # Environments: the time limit, the final observation.
    Fault("trainer/envs/stepping.py", "state.elapsed[env] >= max_episode_steps and not terminated", "state.elapsed[env] > max_episode_steps and not terminated", TRAINER + "envs/test_vector.py::test_many_at_once_and_one_by_one_are_the_same[pendulum]"),
    Fault("trainer/envs/stepping.py", "            observe(state.fields, env, out.final_obs)\n", "            observe(state.fields, env, out.obs)\n", TRAINER + "envs/test_vector.py::test_many_at_once_and_one_by_one_are_the_same[cart_pole]"),
    # The page.
    Fault("shared/page/writer.py", "slot = self._slot_starts[number % 2]", "slot = self._slot_starts[0]", SHARED + "page/test_writer_and_reader.py"),
    Fault("shared/page/reader.py", "slots[sequences.index(max(sequences))]", "slots[sequences.index(min(sequences))]", SHARED + "page/test_writer_and_reader.py"),
    Fault("shared/page/reader.py", "sequence != publish:", "sequence == publish:", SHARED + "page/test_writer_and_reader.py"),
    Fault("shared/page/row_ring.py", "if is_filler or at < begin_now:", "if is_filler:", SHARED + "page/test_row_ring.py"),
    Fault("shared/page/row_ring.py", "            if not is_whole(record):\n                reached = at\n                break\n", "", SHARED + "page/test_row_ring.py"),
    # Rows on disk and the recorder.
    Fault("shared/rows/row_file.py", ".part(slice(num_rows + 1 - cut[0]))", ".part(slice(num_rows - cut[0]))", SHARED + "rows/test_row_file.py"),
    Fault("shared/rows/row_file.py", "self._note(\"last_publish\", min(publish, self.last_publish))\n            self._note(\"kept", "self._note(\"last_publish\", self.last_publish)\n            self._note(\"kept", SHARED + "rows/test_row_file.py"),
    Fault("shared/rows/row_file.py", "FOLD * counts[level + 1] + 1, count", "FOLD * counts[level + 1], count", SHARED + "rows/test_row_file.py"),
    Fault("shared/rows/levels.py", "np.where(is_finite, highs, -np.inf)", "np.where(is_finite, means, -np.inf)", SHARED + "rows/test_levels.py"),
    Fault("shared/rows/curves.py", "last_row > self._num_rows, self", "False, self", "tests/monitor/runs/reading/test_closer_look.py"),
    Fault("monitor/recorder/every_row.py", "if publish_of(record) > last]", "if publish_of(record) >= last]", MONITOR + "recorder/test_every_row.py"),
    Fault("monitor/recorder/every_row.py", "- last - len(records) + file.count", "- len(records) + file.count", MONITOR + "recorder/test_every_row.py"),
    # Locks and states.
    Fault("shared/runs/status.py", "    if holder is None:\n        return \"crashed\"", "    if holder is not None:\n        return \"crashed\"", SHARED + "page/test_phase.py::test_an_evaluation_that_beats_is_running_however_old_the_last_publish_is"),
    Fault("shared/runs/status.py", "    if outcome:\n        return outcome.state, outcome.message\n", "", SHARED + "page/test_phase.py::test_a_run_that_has_ended_is_in_no_phase"),
    # Charts.
    Fault("monitor/charts/point_fold.py", "np.fmin(low[:, ::2], low[:, 1::2])", "np.fmax(low[:, ::2], low[:, 1::2])", MONITOR + "charts/test_point_fold.py"),
    Fault("monitor/charts/point_fold.py", "sums[1::2] += newer[1::2]", "sums[1::2] = newer[1::2]", MONITOR + "charts/test_point_fold.py"),
    Fault("monitor/charts/ticks.py", "math.ceil(high / step) * step, step)", "math.floor(high / step) * step, step)", MONITOR + "charts/test_ticks.py"),
    Fault("monitor/charts/ticks.py", "if last - first + 1 <= at_most:", "if last - first <= at_most:", MONITOR + "charts/test_ticks.py"),
    Fault("shared/processes/lock.py", "_ask(fd, _OFD_SETLK, fcntl.F_WRLCK, byte, 1)", "_ask(fd, _OFD_SETLK, fcntl.F_UNLCK, byte, 1)", SHARED + "processes/test_liveness.py::test_a_killed_process_is_crashed_at_once_and_others_run_on"),
)  # fmt: skip


def outcome(fault: Fault) -> str:
    """Plant the fault, run its tests, put the source back; what came of it."""
    path = ROOT / fault.path
    source = path.read_text() if path.is_file() else ""
    if source.count(fault.text) != 1:
        return "gone" if not source.count(fault.text) else "ambiguous"
    path.write_text(source.replace(fault.text, fault.faulty))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "--tb=line", *fault.tests.split()]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "killed (it hung)"
    finally:
        path.write_text(source)
    if done.returncode not in (0, 1):
        return f"not run: {(done.stdout + done.stderr).strip().splitlines()[-1]}"
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return "SURVIVED" if done.returncode == 0 else f"killed {' '.join(failed)[:160]}"


def main() -> None:
    """Plant the faults with the given numbers, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", type=int, nargs="*")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    for number in options.numbers or range(1, len(FAULTS) + 1):
        begin_s = time.monotonic()
        fault = FAULTS[number - 1]
        line = f"{number:2} {fault.path}: {outcome(fault)} ({time.monotonic() - begin_s:.0f} s)"
        print(line, flush=True)
        if options.log:
            with options.log.open("a") as log:
                log.write(line + "\n")


if __name__ == "__main__":
    main()
