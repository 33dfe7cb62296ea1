"""What ranks compare before they learn together."""

from __future__ import annotations

from operant.shared.runs import provenance


def test_the_digest_of_the_code_is_of_the_files_of_each_side(monkeypatch):
    digests = {provenance.code_digest()}
    for sides in ((), ("shared",), ("trainer",), ("commands",)):
        monkeypatch.setattr(provenance, "CODE", sides)
        digests.add(provenance.code_digest())
    assert len(digests) == 5
