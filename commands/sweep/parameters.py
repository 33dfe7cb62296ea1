"""The parameters of a sweep, as written on the command line, and values to try first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...shared.errors import ConfigError, UsageError, nearest

if TYPE_CHECKING:
    from ...trainer.config import TrainConfig

RULE = "write KEY=LOW:HIGH, KEY=log:LOW:HIGH, KEY=int:LOW:HIGH or KEY=ONE,OTHER,..."
OWN_KEYS = {"seed": "--seeds N trains every trial with N of them"}

Value = float | int | str


@dataclass(frozen=True)
class Parameter:
    """A key of the configuration and its range; of one with `choices` these are its values, each as
    it would be written behind --set.
    """

    key: str
    low: float = math.nan
    high: float = math.nan
    is_whole: bool = False
    is_log: bool = False
    choices: tuple[str, ...] = ()

    def in_words(self) -> str:
        """`1e-4 to 0.01, log`."""
        if self.choices:
            return ", ".join(self.choices)
        ends = f"{written(self.bound(self.low))} to {written(self.bound(self.high))}"
        return ends + (", whole" if self.is_whole else "") + (", log" if self.is_log else "")

    def bound(self, end: float) -> Value:
        return int(end) if self.is_whole else end

    def override(self, value: Value) -> str:
        """`value` as `key=value`."""
        return f"{self.key}={value if isinstance(value, str) else repr(value)}"

    def probes(self) -> Iterator[Value]:
        """Values that must hold for all others to: both ends and, of real numbers, one between."""
        if self.choices:
            yield from self.choices
            return
        yield from (self.bound(self.low), self.bound(self.high))
        if not self.is_whole:
            yield self.low + 0.381966 * (self.high - self.low)

    def value_of(self, text: str) -> Value:
        """The value of a text. Raises UsageError if it is outside the range."""
        setting = f"{self.key}={text}"
        if self.choices:
            for choice in self.choices:
                if _parsed(choice) == _parsed(text):
                    return choice
            raise UsageError(f"{setting}: expected one of {self.in_words()}")
        number = _finite(text, setting)
        if not self.low <= number <= self.high:
            raise UsageError(f"{setting}: not within {self.in_words()}")
        if self.is_whole and number != int(number):
            raise UsageError(f"{setting}: expected a whole number; the range is {self.in_words()}")
        return self.bound(number)


def written(value: Value) -> str:
    """A value as people write it, with four digits: 0.00012345678 is 0.0001235."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def parse_parameters(texts: Iterable[str], overrides: Iterable[str]) -> tuple[Parameter, ...]:
    """Raises UsageError for a text that is not a parameter, and for keys that are given twice."""
    parameters = tuple(map(parse_parameter, texts))
    if not parameters:
        raise UsageError(f"a sweep needs --param; {RULE}")
    fixed = {override.partition("=")[0].strip() for override in overrides}
    seen: set[str] = set()
    for key in (parameter.key for parameter in parameters):
        if key in seen:
            raise UsageError(f"--param {key} is given twice")
        if key in fixed:
            raise UsageError(f"{key} is given with --set and with --param")
        if key in OWN_KEYS:
            raise UsageError(f"--param {key}: {OWN_KEYS[key]}")
        seen.add(key)
    return parameters


def parse_parameter(text: str) -> Parameter:
    """Raises UsageError with what is wrong with it."""
    option = f"--param {text}"
    key, equals, rest = (part.strip() for part in text.partition("="))
    if not equals or not key or not rest:
        raise UsageError(f"{option}: {RULE}")
    choices = split_commas(rest)
    if len(choices) > 1:
        if not all(choices):
            raise UsageError(f"{option}: a value between two commas is empty")
        if len({repr(_parsed(choice)) for choice in choices}) < len(choices):
            raise UsageError(f"{option}: a choice is given twice")
        return Parameter(key, choices=tuple(choices))
    kinds, rest = set(), rest
    while (kind := rest.partition(":")[0].strip()) in ("log", "int"):
        if kind in kinds:
            raise UsageError(f"{option}: '{kind}' is given twice")
        kinds.add(kind)
        rest = rest.partition(":")[2]
    return _range(option, key, rest, kinds)


def _range(option: str, key: str, text: str, kinds: set[str]) -> Parameter:
    ends = [end.strip() for end in text.split(":")]
    if len(ends) == 1 and not kinds:
        raise UsageError(f"{option}: one value is not a range; use --set {key}={text} for it")
    if len(ends) != 2:
        raise UsageError(f"{option}: {RULE}")
    low, high = (_finite(end, option) for end in ends)
    if not low < high:
        raise UsageError(f"{option}: {ends[0]} is not below {ends[1]}")
    if "log" in kinds and low <= 0:
        raise UsageError(f"{option}: a logarithmic range must begin above 0")
    if "int" in kinds and (low != int(low) or high != int(high)):
        raise UsageError(f"{option}: the ends of an int: range must be whole numbers")
    return Parameter(key, low, high, "int" in kinds, "log" in kinds)


def check_parameters(
    load: Callable[[Sequence[str]], TrainConfig], parameters: Iterable[Parameter]
) -> list[TrainConfig]:
    """The configurations with each parameter alone at its ends and choices, by `load` of what is to
    be changed. Raises UsageError where one of them does not hold.
    """
    configs = []
    for parameter in parameters:
        for place, value in enumerate(parameter.probes()):
            override = parameter.override(value)
            try:
                configs.append(load([override]))
            except ConfigError as error:
                option = f"--param {parameter.key}"
                if place == 2 and not parameter.choices:
                    whole = f"int:{parameter.low:g}:{parameter.high:g}"
                    option = f"--param {parameter.key}={whole} would draw whole numbers alone"
                raise UsageError(f"{option}: {error}") from None
    return configs


def suggestion_of(texts: Iterable[str], parameters: Sequence[Parameter]) -> dict[str, Value]:
    """Values that somebody wants tried, from `key=value`; what is not among them is left to the
    search. Raises UsageError.
    """
    known = {parameter.key: parameter for parameter in parameters}
    values: dict[str, Value] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise UsageError(f"'{text}': write key=value, as in {parameters[0].key}=...")
        ends = [name for name in known if name.endswith(f".{key}")]
        key = ends[0] if len(ends) == 1 else key
        if key not in known:
            hint = nearest(key, known) or f"; it varies {', '.join(known)}"
            raise UsageError(f"{key} is not a parameter of this sweep{hint}")
        if key in values:
            raise UsageError(f"{key} is given twice")
        values[key] = known[key].value_of(value)
    if not values:
        raise UsageError("name at least one value, as key=value")
    return values


def split_commas(text: str) -> list[str]:
    """`[64, 64],tanh` at the commas that are in no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (letter in "[{") - (letter in "]}") if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _finite(text: str, option: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{option}: {text or 'nothing'} is not a number") from None
    if not math.isfinite(number):
        raise UsageError(f"{option}: {text} is not a finite number")
    return number


def _parsed(text: str) -> Any:
    """The value that --set would read."""
    from ...trainer.config.from_values import parse_override

    return parse_override(f"value={text}")[1]
