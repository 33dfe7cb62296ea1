"""Secrets stay out of run.toml; what only looks like one stays in."""

from __future__ import annotations

import sys
import time

import pytest

import operant
from operant.shared.integrations import current_run, wandb_shape
from operant.shared.runs.find_runs import latest_run
from operant.shared.runs.provenance import provenance
from operant.shared.text.masking import (
    KEEP,
    is_secret,
    masked,
    masked_arguments,
    masked_text,
    secret_values,
)


@pytest.mark.parametrize("name", [
    "key", "token", "secret", "password", "passwd", "credential", "credentials", "auth", "api_key",
    "API_KEY", "apiKey", "apikey", "WANDB_API_KEY", "--api-key", "hf-token",
    "aws_secret_access_key", "db.password", "secretKey", "OPENAI_API_KEY", "auth_token",
    "accessToken", "token2", "DBPassword", "client_secret", "private_key", "passphrase",
    "authorization", "PGPASSWORD", "DB_PASS", "SMTP_PASS", "smtpPass", "passwords", "accesstoken",
    "secretkey", "privatekey", "X-Amz-Signature",
])  # fmt: skip
def test_names_of_secrets_are_known(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", [
    "tokenizer", "monkey", "keyboard", "max_tokens", "key_dim", "keyframe", "author", "tokens",
    "num_keys_total", "turkey", "secretary", "authentic", "learning_rate", "env", "pad_token",
    "sort_key", "obs_key", "", "123", "token_count", "n_key_heads", "authority", "random_key",
    "pass", "forward_pass", "bypass", "num_tokens", "signature", "time_signature", "sig",
])  # fmt: skip
def test_names_that_only_look_alike_are_not(name):
    assert not is_secret(name)


def test_a_command_line_keeps_all_but_its_secrets():
    given = ["train.py", "--token", "XXX", "--api-key=XXX", "--lr", "0.1", "HF_TOKEN=XXX",
             "--set", "auth.password=XXX", "https://me:XXX@host/x", "--verbose", "--secret",
             "--tokenizer", "bert", "--max_tokens=5", "--header", "Authorization: XXX",
             "sk-abcdefghijklmnopXXX"]  # fmt: skip
    kept = masked_arguments(given)
    assert "XXX" not in " ".join(kept)
    assert kept == [
        "train.py", "--token", "***", "--api-key=***", "--lr", "0.1", "HF_TOKEN=***", "--set",
        "auth.password=***", "https://***@host/x", "--verbose", "--secret", "--tokenizer", "bert",
        "--max_tokens=5", "--header", "Authorization: ***", "***",
    ]  # fmt: skip


PEM = """-----BEGIN RSA PRIVATE KEY-----
MIIEpAIBAAKCAQEAXXX+/8eF3mQ0bF0l1c5cXo7w3xU1v4Q2qk9Jm0yZb7Wq3T5d
XXXQ==
-----END RSA PRIVATE KEY-----
"""


@pytest.mark.parametrize(("text", "kept"), [
    ('password = "XXX XXX"', "password = ***"),
    ("PASSWORD='XXX'", "PASSWORD=***"),
    ('{"password": "XXX, XXX", "lr": 1}', '{"password": ***, "lr": 1}'),
    ('config = {"token": "XXX"}', 'config = {"token": ***}'),
    ('run(config=dict(api_key="XXX"))', "run(config=dict(api_key=***))"),
    ('os.environ["OPENAI_API_KEY"] = "XXX"', 'os.environ["OPENAI_API_KEY"] = ***'),
    ('password: str = "XXX"', "password: str = ***"),
    ('token = """XXX XXX"""', "token = ***"),
    (r'password = "say \"XXX\" XXX"', "password = ***"),
    ("+aws_secret_access_key = 'wJalr/K7MDENG/XXX'", "+aws_secret_access_key = ***"),
    ("Authorization: Bearer XXX", "Authorization: Bearer ***"),
    ("https://me:XXX@host/x?token=XXX&a=1", "https://***@host/x?token=***&a=1"),
    ("AKIAIOSFODNN7EXAMPLXXX", "***"),
    ("ASIAIOSFODNN7EXAMPLXXX", "***"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4XXX", "***"),
    ("github_pat_11ABCDEFG0_abcdefghijklmnopXXX", "***"),
    ("glpat-abcdefghijklmnop1XXX", "***"),
    ("sk-proj-abcdefghijklmnop_XXX", "***"),
    ("hf_abcdefghijklmnopqrstuvwxXXX", "***"),
    ("AIzaSyA-abcdefghijklmnopqrstuvwxyzXXX", "***"),
    ("xoxb-123456789012-abcdefXXX", "***"),
    ("xapp-1-A111-222-abcdefXXX", "***"),
    ("https://hooks.slack.com/services/T00/B00/XXX", "https://hooks.slack.com/services/***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.XXX-_x", "***"),
    ("password=XXX,b;c&d-XXX", "password=***"),
    ("password=XXX&3,XXX host=db", "password=*** host=db"),
    ("password=XXX,user=bob; token=XXX&a=1", "password=***,user=bob; token=***&a=1"),
    ("gsk_abcdefghijklmnopXXX", "***"),
    ("hvs.abcdefghijklmnopXXX", "***"),
    ("nvapi-abcdefghijklmnopXXX", "***"),
    ("ERROR: invalid password=XXX", "ERROR: invalid password=***"),
    ("INFO: using API_KEY=XXX", "INFO: using API_KEY=***"),
    ("WARNING: token=XXX", "WARNING: token=***"),
    ("+  env: API_KEY=XXX", "+  env: API_KEY=***"),
    ("token: XXX NAME=value", "token: *** NAME=value"),
    ("token: XXXabc=", "token: ***"),
    ("password: str | None  = 'XXX'", "password: str | None  = ***"),
    ("authorization: bearer XXX", "authorization: bearer ***"),
    ("AUTHORIZATION: BEARER XXX", "AUTHORIZATION: BEARER ***"),
    ("Authorization:\tToken\tXXX", "Authorization:\tToken\t***"),
    ("Authorization: Digest XXX", "Authorization: Digest ***"),
    ("Authorization: ApiKey XXX", "Authorization: ApiKey ***"),
    ('Authorization: Digest username="XXX", nc=1, response="XXX"', "Authorization: Digest ***"),
    ("Cookie: a=XXX; b=XXX", "Cookie: ***"),
    ("curl -H 'Cookie: a=XXX; b=XXX' -v", "curl -H 'Cookie: ***' -v"),
    ('{"Cookie": "a=XXX; b=XXX", "n": 1}', '{"Cookie": ***, "n": 1}'),
    ("api_keys=['XXX', 'XXX'], lr=3", "api_keys=***, lr=3"),
    (r'{\"token\":\"XXX \\\"XXX\",\"lr\":1}', r'{\"token\":***,\"lr\":1}'),
    ("'api_key' => 'XXX'", "'api_key' => ***"),
    ("postgres://me:p@XXX@db/x", "postgres://***@db/x"),
    ("postgres://me:p/XXX@db/x", "postgres://***@db/x"),
    ("https://abcdefghijklmnopXXX@host/x", "https://***@host/x"),
    ("https://discordapp.com/api/webhooks/1/abcdefghijklmnopXXX", "https://discordapp.com/***"),
    ("/bot123456:AAabcdefghijklmnopqrstuvwxyz_-XXX/send", "/***/send"),
    ("https://host/x?sv=1&sig=abcdefghijklmnopXXX&a=1", "https://host/x?sv=1&sig=***&a=1"),
    (PEM, "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\n"),
    (PEM[:60], "-----BEGIN RSA PRIVATE KEY-----***"),
    ("".join(f"+{line}\n" for line in PEM.splitlines()[1:2]), "+***\n"),
])  # fmt: skip
def test_secrets_are_found_in_any_text(text, kept):
    assert masked_text(text) == kept
    assert "XXX" not in masked_text(f"+ before\n{text}")


@pytest.mark.parametrize("text", [
    "def f(key: str = None, token=None): pass", "if self.token == other:", "token := 3",
    "key:\n  x", "https://host/key://x", "-----BEGIN CERTIFICATE-----\nabc", "0123456789abcdef" * 4,
    "max_tokens = 5", "sort_key=by_name", "the key", "risk-averse-optimisation-of-policies",
    "pass: 3", "forward_pass=3", "http://localhost:6006/@x/y", "git+ssh://git@host/x", "robot: 3",
    "signature = inspect.signature(f)", "accuracy key: 0.93", "next_token=42", "token: 17, x",
    "{'key': 3}", "auth=0.3", "loss_key=-1e-3",
])  # fmt: skip
def test_other_text_stays(text):
    assert masked_text(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a=",
        "a: b ",
        "key=",
        'token="',
        "token: a ",
        'token:\\"',
        "Cookie: a ",
        "keys=[",
        "x://a:",
        "x://a:b/",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_long_texts_are_masked_in_a_moment(piece):
    began_s = time.process_time()
    masked_text(piece * (100_000 // len(piece)))
    assert time.process_time() - began_s < 2


# Shapes as the services give them, with random letters. Split, so that no scanner takes this file
# for a leak.
KEYS = [
    "AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "Y34FZKBOKMUTVV7A",
    "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a", "gho_" + "16C7e42F292c6912E7710c838347Ae1",
    "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWX",
    "glpat-" + "x3Kd9_aaBBccDDeeFFgg",
    "sk-" + "abcdefghijklmnopqrstT3BlbkFJabcdefghijklmnopqrst",
    "sk-proj-" + "Ab1_cD-eF2gH3iJ4kL5mN6oP7qR8sT9uV0", "sk-ant-api03-" + "Ab1_cD-eF2gH3iJ4kL5mN6oP",
    "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "api_org_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx",
    "xapp-" + "1-A0123BCDEF-1234567890123-abcdef0123456789",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "ya29." + "a0AfH6SMBx1234567890abcdef",
    "GOCSPX-" + "a1b2c3d4e5f6g7h8i9j0k1l2m3n4",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "rk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "whsec_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789", "pypi-" + "AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
    "dckr_pat_" + "abcdefghijklmnopqrstuvwxyz0",
    "SG." + "abcdefghijklmnopqrstuv" + ".abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
    "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("said", ["{}", "use {} now", "'{}'", "({})", "x={},y", "https://h/?a={}"])
def test_keys_of_services_are_known_by_their_shape(key, said):
    kept = masked_text(said.format(key))
    assert key[-8:] not in kept
    assert kept == said.format("***")


@pytest.mark.parametrize(("said", "kept"), [
    ("https://hooks.slack.com/" + "services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
     "https://hooks.slack.com/services/***"),
    ("Authorization: Bearer XXXXXXXXXXXX", "Authorization: Bearer ***"),
    ("curl -H 'authorization: Basic XXXXXXXX'", "curl -H 'authorization: Basic ***"),
    ("sent bearer XXXXXXXXXXXXXXXXXXXX", "sent ***"),
    ('{"password": "XXX YYY", "lr": 0.1}', '{"password": ***, "lr": 0.1}'),
    ("{'api_key': 'XXX', 'lr': 0.1}", "{'api_key': ***, 'lr': 0.1}"),
    ("export AWS_SECRET_ACCESS_KEY=XXX", "export AWS_SECRET_ACCESS_KEY=***"),
    ("run --password XXX --lr 0.1", "run --password *** --lr 0.1"),
    ("run --secret --lr 0.1", "run --secret --lr 0.1"),
    ("postgres://me:XXX@db:5432/x", "postgres://***@db:5432/x"),
    ("mysql+pymysql://me:XXX@db/x and redis://:XXX@r", "mysql+pymysql://***@db/x and redis://***@r"),
    ("-----BEGIN RSA PRIVATE KEY-----\\nXXX\\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
])  # fmt: skip
def test_secrets_in_what_a_program_prints_are_masked(said, kept):
    assert "XXX" not in kept
    assert masked_text(said) == kept


@pytest.mark.parametrize("said", [
    "epoch 3: loss 0.123, tokens/s 1200, pat", "obs_key: 3, pad_token=0", "a-skip-connection-of",
    "https://example.com/a?b=c", "-----BEGIN CERTIFICATE-----", "task-0123456789abcdef0123",
    "eyJ is how tokens begin", "a risk-averse-agent-of-many-words",
])  # fmt: skip
def test_what_is_no_secret_is_printed_as_it_is(said):
    assert masked_text(said) == said


def test_the_folder_that_a_shell_is_in_is_no_secret():
    folders = {"PWD": "/home/me/project", "OLDPWD": "/home/me/before"}
    assert secret_values({**folders, "MYSQL_PWD": "12345678"}) == ["12345678"]


def test_secret_values_of_the_environment_are_the_long_ones_longest_first(monkeypatch):
    environment = {
        "A_TOKEN": "12345678",
        "B_KEY": "123456789",
        "C_KEY": "short",
        "HOME": "/a/b/c/d",
    }
    assert secret_values(environment) == ["123456789", "12345678"]
    lines = "-----BEGIN PRIVATE KEY-----\nabcdefgh1\n  abcdefgh\nabc\n"
    assert secret_values({"A_KEY": lines}) == ["abcdefgh1", "abcdefgh"]
    monkeypatch.setenv(KEEP, "B_KEY")
    assert secret_values(environment) == ["12345678"]


def test_a_configuration_is_masked_at_every_depth():
    given = {"lr": 0.1, "api_key": "XXX", "net": {"key_dim": 8, "hub": [{"token": "XXX"}]},
             "password": 12345, "use_auth": True, "token": None, "env": "A=1 DB_PASSWORD=XXX",
             "url": "postgres://me:XXX@db/x", "keys": ["XXX", "XXX"]}  # fmt: skip
    assert masked(given) == {
        "lr": 0.1, "api_key": "***", "net": {"key_dim": 8, "hub": [{"token": "***"}]},
        "password": "***", "use_auth": True, "token": None, "env": "A=1 DB_PASSWORD=***",
        "url": "postgres://***@db/x", "keys": ["***", "***"],
    }  # fmt: skip


def test_nothing_secret_of_a_loop_is_in_run_toml_and_the_loop_has_its_own(monkeypatch):
    monkeypatch.setattr(current_run, "current", None)
    for name in ("config", "summary"):
        monkeypatch.setattr(wandb_shape, name, getattr(wandb_shape, name))
    monkeypatch.setattr(sys, "argv", ["train.py", "--token", "XXX"])
    run = operant.init(config={"api_key": "XXX", "lr": 0.1})
    run.config["password"] = "XXX"
    run.summary["auth_token"] = "XXX"
    assert run.config["api_key"] == "XXX"
    run.finish()
    text = latest_run().manifest_path.read_text()
    assert "XXX" not in text
    assert "lr = 0.1" in text


def test_what_is_named_is_kept(monkeypatch):
    monkeypatch.setenv(KEEP, "api_key,token")
    assert masked({"api_key": "a", "token": "b", "password": "c"}) == {
        "api_key": "a", "token": "b", "password": "***",
    }  # fmt: skip
    monkeypatch.setenv(KEEP, "*")
    assert masked({"password": "c"}) == {"password": "c"}
    assert masked_text("x://a:b@c") == "x://a:b@c"


def test_the_command_line_that_is_kept_is_a_command_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["my train.py", "--token=XXX", "--name", "a b"])
    assert provenance([])["command_line"] == "'my train.py' '--token=***' --name 'a b'"


def test_what_follows_an_option_with_its_value_is_no_value_of_it():
    given = ["--by=token", "0.5", "--kind=secret", "train.py"]
    assert masked_arguments(given) == given
