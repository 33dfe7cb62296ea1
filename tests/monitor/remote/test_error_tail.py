"""ErrorTail keeps the reason why ssh failed."""

from __future__ import annotations

import io

import pytest

from operant.monitor.remote.connection import ErrorTail


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"ssh: connect to host box port 22: Connection refused\n", "Connection refused"),
        (
            b"Warning\nssh: Could not resolve hostname box: Name or service not known\r\n",
            "Could not resolve hostname box: Name or service not known",
        ),
        (b"bash: ssh: command not found\n", "bash: ssh: command not found"),
        (b"me@box: Permission denied (publickey).\n", "me@box: Permission denied (publickey)."),
        (b"operant: no run is called x\n", "operant: no run is called x"),
        (b"", ""),
    ],
)
def test_the_last_line_is_the_reason(said, reason):
    assert ErrorTail(io.BufferedReader(io.BytesIO(said))).last_line(60.0) == reason
