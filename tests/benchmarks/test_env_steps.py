"""What the benchmark of raw stepping prints."""

from __future__ import annotations

import env_steps


def test_a_small_ratio_keeps_two_digits(capsys):
    speeds = {
        name: {"median": median, "min": median, "max": median}
        for name, median in {"operant": 310e6, "Gymnasium": 26e6, "EnvPool": 0.42e6}.items()
    }
    env_steps.table(speeds)
    lines = capsys.readouterr().out.splitlines()
    # 310 / 26 = 11.92;  0.42 / 26 = 0.01615
    assert [line.split("million/s")[1].split() for line in lines[:3]] == [
        ["(310.0", "to", "310.0)", "11.9", "x", "the", "others'", "best"],
        ["(26.0", "to", "26.0)", "1.0", "x", "the", "others'", "best"],
        ["(0.42", "to", "0.42)", "0.016", "x", "the", "others'", "best"],
    ]
