"""Parts of names find what people mean."""

from __future__ import annotations

from operant.monitor.runs.list.choices import Choice, chosen

CHOICES = [Choice(name, name) for name in ("loss/value", "value/mean", "my.value", "values", "age")]


def test_the_nearest_name_comes_first_and_a_setting_before_a_metric():
    assert [c.name for c in chosen(CHOICES, "value")] == [
        "my.value", "loss/value", "value/mean", "values",
    ]  # fmt: skip
    assert [c.name for c in chosen(CHOICES, "values")] == ["values"]


def test_all_words_must_be_there_in_any_case():
    assert [c.name for c in chosen(CHOICES, "VALUE m")] == ["my.value", "value/mean"]
    assert chosen(CHOICES, "nothing") == []
    assert chosen(CHOICES, " ") == CHOICES
