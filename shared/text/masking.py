"""Masks secrets in the files of a run: keys of well-known forms, values that follow `password`,
`api_key` and similar words, and values of environment variables with names like secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"

_SECRET_VARIABLE = re.compile("KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_MIN_SECRET_CHARACTERS = 8  # a shorter value of the environment occurs by chance
_HEAD_OF_KEY = re.compile("-----[A-Z0-9 ]+-----")
_NAME = r"(?:passwords?|passwd|secret|(?:api|access|secret)[_-]?key|(?:access|auth)[_-]?token)"
_SECRET_NAME = re.compile(rf"{_NAME}\Z", re.IGNORECASE)
# As in `password=x`, `"api_key": "x"` and `env["API_KEY"] = "x"`.
_ASSIGNED = re.compile(
    rf"""({_NAME}["']?\]?\s{{0,9}}(?:=(?!=)|:(?![=/]))\s{{0,9}})
    ("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)""",
    re.VERBOSE | re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"""(\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)[^\s/@:'"]*:[^\s/'"]*@""")
# A private key, which may be cut.
_PRIVATE_KEY = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----).*?(?=-----END |\Z)", re.DOTALL
)
_KEY = re.compile(
    r"\b("
    r"(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|(hf|api_org|npm|whsec|dckr_pat|github_pat|wandb_v1)_[A-Za-z0-9_-]{16,}"
    r"|(gsk|r8|glsa|shpat|dop_v1)_[A-Za-z0-9_-]{16,}|(nvapi|glrt)-[A-Za-z0-9_-]{16,}"
    r"|hvs\.[A-Za-z0-9_-]{16,}|ATATT3[A-Za-z0-9_=-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[A-Za-z0-9_-]{16,}|pypi-[A-Za-z0-9_-]{16,}"
    r"|A[KS]IA[A-Z0-9]{12,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
    r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?"  # JSON web tokens
    r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]+"
    r"|(?<=/)webhooks/\d+/[A-Za-z0-9_-]{16,}"  # Discord
    r"|(bot\d{6,}:|\d{6,}:AA)[A-Za-z0-9_-]{30,}"  # Telegram
    r"|(?i:bearer)\s{1,9}[A-Za-z0-9._~+/=-]{16,}"
    r")"
)


def masked(value: Any) -> Any:
    """`value`, which may be a table or a list, with `MASK` in place of the secrets in its texts."""
    return _masked(value, secret_values(os.environ))


def _masked(value: Any, secrets: list[str], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _masked(inner, secrets, str(key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(inner, secrets, name) for inner in value]
    if not isinstance(value, str):
        return value
    return MASK if value and _SECRET_NAME.search(name) else masked_text(value, secrets)


def masked_text(text: str, secrets: Iterable[str] | None = None) -> str:
    """`text` with `MASK` in place of keys, passwords and `secrets`, by default `secret_values`."""
    for secret in secret_values(os.environ) if secrets is None else secrets:
        text = text.replace(secret, MASK)
    text = _PRIVATE_KEY.sub(rf"\1{MASK}", text)
    text = _USER_IN_URL.sub(rf"\1{MASK}@", text)
    text = _ASSIGNED.sub(rf"\1{MASK}", text)
    return _KEY.sub(MASK, text)


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """The values of variables with names like secrets, split into lines, as programs print them.
    The longest is first, as one may be a part of another.
    """
    values = {
        line
        for name, value in environment.items()
        if _SECRET_VARIABLE.search(name)
        for line in map(str.strip, value.splitlines())
        # Not the head of a private key, by which `masked_text` finds the whole key.
        if len(line) >= _MIN_SECRET_CHARACTERS and not _HEAD_OF_KEY.fullmatch(line)
    }
    return sorted(values, key=len, reverse=True)


def masked_arguments(arguments: Iterable[str]) -> list[str]:
    """A command line with masked secrets, also those that follow an option: `--api-key X`."""
    kept: list[str] = []
    follows_name = False
    for argument in arguments:
        is_option = argument.startswith("-")
        kept.append(MASK if follows_name and not is_option else masked_text(argument))
        follows_name = is_option and _SECRET_NAME.search(argument) is not None
    return kept
