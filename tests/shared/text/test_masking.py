"""Secrets stay out of what a run keeps; other text stays in."""

from __future__ import annotations

import sys
import time

import pytest

import operant
from operant.shared.integrations import current_run
from operant.shared.runs.find_runs import latest_run
from operant.shared.runs.provenance import provenance
from operant.shared.text.masking import masked, masked_arguments, masked_text, secret_values


@pytest.mark.parametrize(("text", "kept"), [
    # Shapes as services give them. Split, so that no scanner takes this file for a leak.
    ("use AKIA" + "IOSFODNN7EXAMPLE now", "use *** now"),
    ("'ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a'", "'***'"),
    ("x=sk-proj-" + "Ab1_cD-eF2gH3iJ4kL5mN6oP7qR8sT9uV0,y", "x=***,y"),
    ("hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "***"),
    ("https://hooks.slack.com/" + "services/T00/B00/XXX", "https://hooks.slack.com/services/***"),
    ("eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.XXX-_x", "***"),
    ("Authorization: Bearer XXXXXXXXXXXXXXXX", "Authorization: ***"),
    ("postgres://me:p@XXX@db/x", "postgres://***@db/x"),
    ("-----BEGIN RSA PRIVATE KEY-----\nXXX\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
    ("ERROR: invalid DB_PASSWORD=XXX host=db", "ERROR: invalid DB_PASSWORD=*** host=db"),
    ('{"api_key": "XXX, XXX", "lr": 1}', '{"api_key": ***, "lr": 1}'),
    ('os.environ["OPENAI_API_KEY"] = "XXX"', 'os.environ["OPENAI_API_KEY"] = ***'),
])  # fmt: skip
def test_secrets_are_masked(text, kept):
    assert masked_text(text) == kept


@pytest.mark.parametrize("text", [
    "obs_key: 3, pad_token=0", "next_token=42", "task-0123456789abcdef0123", "http://h:6006/@x",
    "-----BEGIN CERTIFICATE-----\nabc", "if self.password == other:", "git+ssh://git@host/x",
    "risk-averse-optimisation-of-policies", "0123456789abcdef" * 4,
])  # fmt: skip
def test_other_text_stays(text):
    assert masked_text(text) == text


@pytest.mark.parametrize("piece", ["password=", 'api_key="', "x://a:", "-----BEGIN PRIVATE KEY-"])
def test_long_texts_are_masked_in_a_moment(piece):
    began_s = time.process_time()
    masked_text(piece * (100_000 // len(piece)))
    assert time.process_time() - began_s < 2


def test_values_of_secret_variables_are_masked_wherever_they_occur(monkeypatch):
    environment = {
        "A_TOKEN": "12345678",
        "B_KEY": "123456789",
        "C_KEY": "short",
        "HOME": "/a/b/c/d",
        "PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\nabcdefgh1\n  abcdefgh\nabc\n",
    }
    values = secret_values(environment)
    assert [len(value) for value in values] == [9, 9, 8, 8]
    assert {*values} == {"123456789", "abcdefgh1", "12345678", "abcdefgh"}
    monkeypatch.setenv("HOOK_PASSWORD", "correct-horse")
    assert masked_text("it is correct-horse!") == "it is ***!"
    assert masked({"deep": [{"text": "correct-horse"}]}) == {"deep": [{"text": "***"}]}


def test_a_configuration_is_masked_at_every_depth():
    given = {"lr": 0.1, "api_key": "XXX", "net": {"key_dim": 8, "hub": [{"auth_token": "XXX"}]},
             "use_password": True, "pad_token": "<pad>", "env": "A=1 DB_PASSWORD=XXX"}  # fmt: skip
    assert masked(given) == {
        "lr": 0.1, "api_key": "***", "net": {"key_dim": 8, "hub": [{"auth_token": "***"}]},
        "use_password": True, "pad_token": "<pad>", "env": "A=1 DB_PASSWORD=***",
    }  # fmt: skip


def test_a_command_line_keeps_all_but_its_secrets(monkeypatch):
    given = ["my train.py", "--api-key", "XXX", "--password=XXX", "--lr", "0.1", "--secret", "--v",
             "HF_PASSWORD=XXX", "--tokenizer", "bert"]  # fmt: skip
    kept = ["my train.py", "--api-key", "***", "--password=***", "--lr", "0.1", "--secret", "--v",
            "HF_PASSWORD=***", "--tokenizer", "bert"]  # fmt: skip
    assert masked_arguments(given) == kept
    monkeypatch.setattr(sys, "argv", ["my train.py", "--password=XXX", "--name", "a b"])
    assert provenance([])["command_line"] == "'my train.py' '--password=***' --name 'a b'"


def test_nothing_secret_of_a_loop_is_in_run_toml_and_the_loop_has_its_own(monkeypatch):
    monkeypatch.setattr(current_run, "current", None)
    monkeypatch.setattr(sys, "argv", ["train.py", "--password", "XXX"])
    run = operant.init(config={"api_key": "XXX", "lr": 0.1})
    run.config["password"] = "XXX"
    run.summary["auth_token"] = "XXX"
    assert run.config["api_key"] == "XXX"
    run.finish()
    text = latest_run().manifest_path.read_text()
    assert "XXX" not in text
    assert "lr = 0.1" in text
