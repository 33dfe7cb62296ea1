"""Sines, cosines and angles are those of the C library, but for rounding."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, vectorize

from operant.trainer.envs.trigonometry import (
    precise_sine_and_cosine,
    sine_and_cosine,
    wrapped,
)

pytestmark = pytest.mark.slow

ANGLES = np.linspace(-20, 20, 100_001)


def results(function, angles):
    """Sines and cosines [2, B]."""
    compiled = njit(function.py_func)

    @njit
    def fill(angles, out):
        for i in range(len(angles)):
            out[0, i], out[1, i] = compiled(angles[i])

    out = np.empty((2, len(angles)), angles.dtype)
    fill(angles, out)
    return out


def test_sine_and_cosine_in_single_precision():
    angles = ANGLES.astype(np.float32)
    expected = np.array([np.sin(angles.astype(float)), np.cos(angles.astype(float))])
    error = np.abs(results(sine_and_cosine, angles) - expected)
    assert error[:, np.abs(angles) <= 2 * np.pi].max() < 3e-7
    assert error.max() < 1.6e-6


def test_sine_and_cosine_in_double_precision():
    expected = np.array([np.sin(ANGLES), np.cos(ANGLES)])
    assert np.abs(results(precise_sine_and_cosine, ANGLES) - expected).max() < 1e-13


def test_a_wrapped_angle_is_the_same_within_a_half_turn():
    angles = ANGLES.astype(np.float32)
    found = vectorize(lambda x: wrapped(x))(angles)
    turns = (angles.astype(float) - found) / (2 * np.pi)
    assert np.abs(found).max() < np.pi + 2e-6
    assert np.abs(turns - turns.round()).max() < 2e-7
