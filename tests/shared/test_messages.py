"""Messages of the library go through logging, and a program may change that."""

from __future__ import annotations

import logging

from operant.shared.messages import LOGGER, log_warning


def test_warnings_are_lines_on_standard_error_unless_the_program_says_otherwise(capsys):
    log_warning("one\nline")
    assert capsys.readouterr().err == "operant: warning: one line\n"
    LOGGER.info("%s", "news")
    assert capsys.readouterr().err == "operant: news\n"
    logger = logging.getLogger("operant")
    logger.setLevel(logging.ERROR)
    try:
        log_warning("silent")
    finally:
        logger.setLevel(logging.INFO)
    assert capsys.readouterr().err == ""
