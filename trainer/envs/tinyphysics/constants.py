"""The numbers of the challenge. Source: github.com/commaai/controls_challenge, tinyphysics.py."""

from __future__ import annotations

STEP_S = 0.1
CONTEXT_STEPS = 20  # of history that the model sees, and the first row that is simulated
VOCABULARY_SIZE = 1024
STATE_SIZE = 4  # action, roll lataccel, v_ego, a_ego
MAX_LATACCEL_M_PER_S2 = 5.0
MAX_STEER = 2.0
MAX_LATACCEL_CHANGE_M_PER_S2 = 0.5  # in one step
CONTROL_START = 100  # the first row whose action is the controller's
COST_END = 500  # the row after the last that counts
LATACCEL_COST_WEIGHT = 50.0
TEMPERATURE = 0.8
PLAN_STEPS = 49  # rows of the future that a controller is shown
NUM_SEEDS = 10**4

PID_GAINS = (0.195, 0.100, -0.053)  # on error, its sum and its difference, per call
