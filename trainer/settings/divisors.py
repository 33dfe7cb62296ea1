"""Numbers that divide, for errors that say which would."""

from __future__ import annotations


def nearest_divisors(number: int, wanted: int) -> str:
    """The divisors of `number` next to `wanted`, which does not divide it, as text: "4 or 8"."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    divisors = sorted({*small, *(number // d for d in small)})
    below = max(d for d in divisors if d < wanted)
    above = [str(d) for d in divisors if d > wanted][:1]
    return " or ".join([str(below), *above])
