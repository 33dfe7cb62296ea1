"""What has to be the same in all ranks."""

from __future__ import annotations

from ...shared.provenance import code_digest, provenance

PACKAGES = ("operant-rl", "torch", "numba")
CODE = "operant's source files"


def versions() -> dict[str, str]:
    """By name; `None` of what is not installed."""
    known = provenance(PACKAGES)["versions"]
    # A build's own label, as in 2.13.0+cpu, says what it was made for.
    found = {name: str(known.get(name)).partition("+")[0] for name in PACKAGES}
    return {**found, CODE: code_digest()}
