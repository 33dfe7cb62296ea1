# The commands people run. Everything is installed into .venv, from pyproject.toml with the
# versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SIDES := api commands monitor shared trainer
# Two processes; all tests of a file are in one. build/*.xml keep how long each test took, and the
# files that took longest are listed at the end.
# A worker that crashes ends the tests: with another in its place they could wait for ever.
IN_PARALLEL := --numprocesses 2 --max-worker-restart 0 --dist loadfile --durations 20

.DEFAULT_GOAL := train
.PHONY: train test test-slow test-all coverage compile torture deaths rows rank-faults configs draws grid-oracle check size mutations gpu-rehearsal gpu-conformance device-table kernel-table reference pictures docs docs-check notebooks bench first-contact learn soak zoo clean

train: $(VENV)/installed
	$(BIN)/operant train --monitor

test: $(VENV)/installed-dev
	$(BIN)/pytest -m "not slow" $(IN_PARALLEL) --junitxml build/tests.xml

# What `make test` leaves out: kills, ranks, terminals, the Python API, learning to a return,
# other libraries.
test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -m "slow and not release" $(IN_PARALLEL) --junitxml build/slow-tests.xml

# All tests, before a release: the guides, the notebooks and the long forms as well. Ranks on machines
# of their own need root.
test-all: test test-slow
	$(BIN)/pytest -m release $(IN_PARALLEL) --junitxml build/release-tests.xml
	$(PYTHON) tools/gpu_rehearsal.py || [ $$? -eq 77 ]
	$(MAKE) rank-faults

# Lines that the tests run, in all processes that they start; fails below 80 %, and when a test fails.
# A compiled line runs without Python seeing it: the loops of trainer/policies/compiled are tested once more as
# plain Python, and test_simulator.py runs the kernels of trainer/jit in CUDA's simulator.
# TESTS=tests/shared for less.
coverage: $(VENV)/installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not untraced" $(TESTS); tests=$$?; \
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest tests/trainer/algorithms/compiled_ppo; plain=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report && exit $$((tests | plain))

# torch.compile with its own compiler; `make test` has one test of that.
compile: $(VENV)/installed-dev
	$(BIN)/pytest --inductor tests/trainer/jit/test_torch_compiling.py

# Ten million publishes under three readers that check every number, then 100,000 damaged pages.
torture: $(VENV)/installed-dev
	$(BIN)/python tools/torture.py
	$(BIN)/python tools/fuzz.py

# 200 processes killed with -9 at random moments; prints the seed, and SEED=N repeats it.
deaths: $(VENV)/installed-dev
	$(BIN)/python tools/deaths.py --kills 200 $(SEED:%=--seed %)

# 100 trainers of 64 metrics at full speed, killed likewise: each row of theirs is on disk.
rows: $(VENV)/installed-dev
	$(BIN)/python tools/row_deaths.py --kills 100 $(SEED:%=--seed %)

# Two ranks on machines of their own (network namespaces: only root can): 50 kills, 20 freezes and 20
# pulled cables at random moments, the run resumed after each; prints the seed, and SEED=N repeats it.
rank-faults: $(VENV)/installed-dev
	$(BIN)/python tools/rank_faults.py $(SEED:%=--seed %)

# 1,000 configurations drawn from the models: each trains two iterations or is refused by one line.
# Prints the seed, and SEED=N repeats it; CONFIGS=N for another number.
configs: $(VENV)/installed-dev
	$(BIN)/python tools/config_fuzz.py --configs $(or $(CONFIGS),1000) $(SEED:%=--seed %)

# Draws by priorities: a million against exact probabilities at ten million rows, and all of eight
# million rows looked for.
draws: $(VENV)/installed-dev
	$(BIN)/python tools/replay_draws.py

# operant's grid world and the real MettaGrid: the same on 100 maps, for 1,000 ticks each.
grid-oracle: $(VENV)/installed-dev
	$(BIN)/python tools/grid_oracle.py --maps 100 --ticks 1000

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# mypy wants the package under its own name, whatever the checkout's folder is called.
	@mkdir -p $(VENV)/typing && ln -sfn "$(CURDIR)" $(VENV)/typing/operant
	PYTHONPATH=$(VENV)/typing $(BIN)/lint-imports --no-cache
	MYPYPATH=$(VENV)/typing $(BIN)/mypy -m operant.cli -m operant.algorithms -m operant.envs -m operant.errors -m operant.integrations -m operant.testing -m operant.wandb $(SIDES:%=-p operant.%)

# Lines of code by folder; fails over the ceilings of pyproject.toml. SINCE=COMMIT shows the change.
size:
	$(PYTHON) tools/size.py $(SINCE)

# Plants known faults one by one and says which of them the tests notice; in a checkout of its own.
mutations: $(VENV)/installed-dev
	$(BIN)/python tools/mutations.py

# The tests of the GPU path on emulated GPUs, in an environment of their own that is kept in
# ~/.cache/operant-gpu-rehearsal (6 GB). SHORT=1 leaves out what takes long, TESTS=... names some.
gpu-rehearsal:
	$(PYTHON) tools/gpu_rehearsal.py $(SHORT:%=--short) $(TESTS)

# Bytes that each preset has on a GPU, counted without one and written to docs/gpu.md.
device-table:
	$(PYTHON) tools/gpu_rehearsal.py --device-table

# The same environment trains every configuration on both devices and writes the table of differences,
# docs/gpu-conformance.md. It takes half an hour.
gpu-conformance:
	$(PYTHON) tools/gpu_rehearsal.py --conformance

# The website of docs/ at http://127.0.0.1:8000; it follows changes of the documents.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --livereload

# The website in build/site; fails at a broken link or anchor.
docs-check: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# docs/pictures, from runs that it trains: one to three minutes.
pictures: $(VENV)/installed-dev
	$(BIN)/python tools/pictures.py

# docs/notebooks, executed.
notebooks: $(VENV)/installed-dev
	$(BIN)/python tools/notebooks.py

# The pages of docs/ that are written from the code: api, commands, configuration, keys.
reference: $(VENV)/installed-dev
	$(BIN)/python tools/reference.py

# Registers, spills, local and shared memory of every kernel, by NVVM and ptxas; needs no GPU.
kernel-table: $(VENV)/installed-dev
	$(BIN)/python tools/kernel_table.py

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/cart_pole.py
	$(BIN)/python benchmarks/monitor_cost.py
	$(BIN)/python benchmarks/monitor_frame.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/recorder_cost.py
	$(BIN)/python benchmarks/publish.py
	$(BIN)/python benchmarks/replay.py

# On a machine with a GPU: the tests of the GPU path, and every figure; the folder is to be sent.
first-contact: $(VENV)/installed-dev
	$(BIN)/python benchmarks/first_contact.py .first_contact

# The monitor left open for two hours; MINUTES=10 for less.
soak: $(VENV)/installed-bench
	$(BIN)/python benchmarks/soak.py --minutes $(or $(MINUTES),120)

# Presets with a bar to reach, with ten seeds that none was tuned on; writes their curves to docs/curves.
learn: $(VENV)/installed-bench
	$(BIN)/python benchmarks/learning.py --jobs 2

# The trained policies that come with the package, in zoo/.
ZOO = cart_pole_ppo acrobot_ppo mountain_car_ppo mountain_car_continuous_ppo pendulum_ppo
zoo: $(VENV)/installed
	for preset in $(ZOO); do $(BIN)/operant train $$preset --name zoo-$$preset \
	  && $(BIN)/operant push zoo-$$preset zoo/$${preset%_ppo} --checkpoint best || exit 1; done

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/installed:
$(VENV)/installed-dev: extras := [dev]
$(VENV)/installed-bench: extras := [dev,bench]
$(VENV)/installed-docs: extras := [docs]
$(VENV)/installed $(VENV)/installed-dev $(VENV)/installed-bench $(VENV)/installed-docs: pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing operant and the packages that it needs into $(VENV)"
	@$(PYTHON) tools/installing.py $(BIN)/python -c constraints.txt -e ".$(extras)"
	@touch $@
