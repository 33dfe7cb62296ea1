"""Secrets left out of what a run keeps: values whose name says that they are one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
KEEP = "OPERANT_KEEP"  # names, apart by commas, that are kept as they are; * keeps everything

# A name is secret by its last words: `api_key`, `apiKey`, `WANDB-API-KEY`, `token`; not by a part
# of one (`tokenizer`, `monkey`) or an earlier one (`key_dim`, `token_count`).
_SECRET_WORDS = frozenset({
    "secrets", "passwords", "passphrase", "pwd", "credential", "credentials", "auth",
    "authorization", "bearer", "cookie", "pat",
})  # fmt: skip
# Also at the end of a word: `PGPASSWORD`, `accesstoken`.
_SECRET_ENDS = (
    "password", "passwd", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authtoken",
    "accesstoken",
)  # fmt: skip
# After these words a key opens no door: it sorts, looks up, seeds or plays.
_HARMLESS_BEFORE_KEY = frozenset({
    "sort", "sorting", "cache", "obs", "observation", "reward", "action", "state", "primary",
    "foreign", "random", "rng", "prng", "metric", "group", "index", "public", "dict", "hot", "map",
    "env", "eval", "monitor", "image", "text", "input", "output", "key",
})  # fmt: skip
# Words that are secret, unless after one of these; "" is none before.
_HARMLESS_BEFORE = {
    "key": _HARMLESS_BEFORE_KEY,
    "keys": _HARMLESS_BEFORE_KEY,
    "token": frozenset({
        "pad", "eos", "bos", "unk", "sep", "cls", "mask", "special", "end", "start", "stop", "per",
    }),
    "pass": frozenset({
        "", "forward", "backward", "fwd", "bwd", "by", "first", "second", "last", "next", "one",
        "two", "single", "multi", "half", "per", "each", "every", "full", "num", "n", "max", "min",
        "pre", "post", "train", "training", "eval", "test", "tests", "render", "low", "high",
        "band", "all", "should", "must", "can", "will", "does", "did", "not", "no", "to", "is",
        "current", "warmup", "optimizer",
    }),
    "signature": frozenset({
        "", "time", "function", "method", "call", "type", "input", "output", "init", "step", "key",
        "forward", "get",
    }),
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# `user:password@`, where the password may have an @ or, unless it looks like a port, a slash; or a
# token alone.
_USER_IN_URL = re.compile(
    r"""(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)(?:
    [^\s/@:'"]*:(?:[^\s/'"]*|(?!\d{1,5}/)(?:(?!://)[^\s@'"])*)|[^\s/@:'"]{16,})@""",
    re.VERBOSE,
)
# Names have an end: a search from every letter of a long text would take for ever.
# As in `key=x`, `"key": "x"`, `env["KEY"] = "x"`, `'key' => 'x'`, `key: str = "x"`, JSON within a
# text (`\"key\":\"x\"`) and `Authorization: Bearer x`.
_ASSIGNED = re.compile(
    r"""(?<![A-Za-z])(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,100})\\?["']?\]?[ \t]{0,9}
    (?::[ \t]{0,9}[A-Za-z_][\w.\[\]]{0,40}(?:[ ]?\|[ ]?[\w.\[\]]{1,40}){0,4}
    (?:[ \t]{1,9}=(?=[ \t])|=(?=["']))|=>?(?!=)|:(?![=/]))[ \t]{0,9}
    (?:(?i:Bearer|Basic|Token|Digest|ApiKey)[ \t]{1,9})?""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"""(?!(?:None|null|[Tt]rue|[Ff]alse)\b)(?:
    [rbf]{0,2}(?P<quote>"{3}|'{3}|["'])(?:\\.|(?!(?P=quote))[^\\\n])*(?P=quote)
    |\\"(?:\\{3}.|(?!\\"|\\{3})[^\n])*\\"|\[[^\]\n]*\]
    |(?:[^\s,;&]|[,;&](?!\s|$|[A-Za-z_][\w.-]{0,100}[ \t]{0,9}[=:]))+)""",
    re.VERBOSE,
)
# Headers of several fields: `Cookie: a=x; b=y`, `Authorization: Digest username="x", response="y"`.
_OF_SEVERAL_FIELDS = re.compile(r"cookie|digest", re.IGNORECASE)
_FIELDS = re.compile(r"[^\n'\"][^\n']*")
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w-]{0,100})(?P<is>\s{1,9})(?P<value>[^\s-]\S*)")
_LOOKS_SECRET = re.compile(
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
    r"|(?:(?<=discord\.com/)|(?<=discordapp\.com/))api/(v\d+/)?webhooks/\d+/[A-Za-z0-9_-]{16,}"
    r"|(bot\d{6,}:|\d{6,}:AA)[A-Za-z0-9_-]{30,}"  # Telegram
    r"|((?<=[?&]sig=)|(?<=[?&]Signature=))[^\s&\"']{16,}"  # addresses that open without a password
    r"|(?i:bearer)\s{1,9}[A-Za-z0-9._~+/=-]{16,}"
    r")"
)
# A private key, which may be cut; and lines of one, of which a diff shows some without its head.
_PRIVATE_KEY = re.compile(
    r"(?P<head>-----BEGIN [A-Z ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----).*?(?=-----END |\Z)", re.DOTALL
)
_HEAD_OF_KEY = re.compile("-----[A-Z0-9 ]+-----")
_LINE_OF_KEY_CHARACTERS = 60
_LINE_OF_KEY = re.compile(
    r"^(?P<sign>[-+ ]?)(?=[^\n]*[A-Z])(?=[^\n]*[a-z])[A-Za-z0-9+/]{60,76}={0,2}$", re.MULTILINE
)
# A text without any of these has no secret that the expressions above would find. Looking for
# them takes a tenth of the time, and most lines that a program prints have none.
_BEGINNINGS = (
    "://", "key", "token", "secret", "pass", "pwd", "credential", "auth", "bearer", "cookie", "pat",
    "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "hf_", "api_org_", "npm_", "whsec_", "wandb_v1_",
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "pypi-", "akia", "asia", "xox", "xapp-",
    "aiza", "ya29.", "gocspx-", "sg.", "eyj", "hooks.slack", "webhooks/", "sig",
    ":aa", "bot", "gsk_", "r8_", "glsa_", "shpat_", "dop_v1_", "nvapi-", "glrt-", "hvs.", "atatt3",
)  # fmt: skip
_MIN_SECRET_CHARACTERS = 8  # a shorter value of the environment occurs by chance
_FOLDERS = ("PWD", "OLDPWD")  # of a shell; `pwd` elsewhere is a password
# Programs print numbers under these names: `next_token=42`, `accuracy key: 0.93`.
_NAMES_OF_NUMBERS = frozenset({"key", "keys", "token", "auth"})
_SMALL_NUMBER = re.compile(r"[-+]?\d{0,6}(\.\d*)?(e[-+]?\d{1,3})?[])}]*", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a value of this name is masked."""
    kept = {word.strip() for word in os.environ.get(KEEP, "").split(",")}
    if "*" in kept or name in kept or name.lstrip("-") in kept:
        return False
    words = _words(name)
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _HARMLESS_BEFORE:
        return before not in _HARMLESS_BEFORE[last]
    return last in _SECRET_WORDS or last.endswith(_SECRET_ENDS)


def _words(name: str) -> list[str]:
    """Its words, without numbers at the end."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return words


def masked(value: Any, name: str = "") -> Any:
    """`value`, a table or list included, with what is secret as `MASK`. What is no text or number
    under a secret name (a flag, nothing at all) tells nothing, and stays.
    """
    if isinstance(value, Mapping):
        return {key: masked(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(inner, name) for inner in value]
    is_told = value is not None and value != "" and not isinstance(value, bool)
    if name and is_told and is_secret(name):
        return MASK
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    """`text` without passwords in addresses, values of secret names, private keys, and well-known
    tokens.
    """
    if "*" in os.environ.get(KEEP, "").split(","):
        return text
    if len(text) >= _LINE_OF_KEY_CHARACTERS:
        text = _LINE_OF_KEY.sub(rf"\g<sign>{MASK}", text)
    lower = text.lower()
    if not any(beginning in lower for beginning in _BEGINNINGS):
        return text
    text = _PRIVATE_KEY.sub(rf"\g<head>{MASK}", text)
    text = _USER_IN_URL.sub(rf"\g<scheme>{MASK}@", text)
    text = _OPTION.sub(_masked_option, _without_assigned(text))
    return _LOOKS_SECRET.sub(MASK, text)


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """The values of secret names, to be masked wherever a program prints them; longest first, as
    one may be a part of another. Of a value of several lines, as programs print it, each line.
    """
    found = {
        line
        for name, value in environment.items()
        if is_secret(name) and name not in _FOLDERS
        for line in map(str.strip, value.splitlines())
        # The head of a private key says that the short lines below it are secret too.
        if len(line) >= _MIN_SECRET_CHARACTERS and not _HEAD_OF_KEY.fullmatch(line)
    }
    return sorted(found, key=len, reverse=True)


def masked_arguments(arguments: Iterable[str]) -> list[str]:
    """A command line with the values of secret options as `MASK`: `--token X`, `--api-key=X`,
    `WANDB_API_KEY=X`, `--set auth.token=X`.
    """
    kept: list[str] = []
    is_value_secret = False
    for argument in arguments:
        is_option = argument.startswith("-") and len(argument) > 1
        kept.append(MASK if is_value_secret and not is_option else masked_text(argument))
        is_value_secret = is_option and "=" not in argument and is_secret(argument)
    return kept


def _masked_option(match: re.Match[str]) -> str:
    return f"{match['name']}{match['is']}{MASK}" if is_secret(match["name"]) else match[0]


def _secret_value(text: str, assigned: re.Match[str]) -> re.Match[str] | None:
    """The value that follows a secret name; None if the name or its value is not secret."""
    name = assigned["name"]
    if not is_secret(name):
        return None
    shape = _FIELDS if _OF_SEVERAL_FIELDS.search(assigned[0]) else _VALUE
    value = shape.match(text, assigned.end()) or _VALUE.match(text, assigned.end())
    is_number = value and _SMALL_NUMBER.fullmatch(value[0])
    return None if is_number and _words(name)[-1] in _NAMES_OF_NUMBERS else value


def _without_assigned(text: str) -> str:
    """`text` without values of secret names, also where they are within the value of another."""
    kept, end, at = [], 0, 0
    while match := _ASSIGNED.search(text, at):
        value = _secret_value(text, match)
        if value is None:  # what follows the name may be another one, as in `error: token=x`
            at = match.end("name")
            continue
        kept += [text[end : match.end()], MASK]
        end = at = value.end()
    return "".join([*kept, text[end:]])
