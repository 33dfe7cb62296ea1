"""`operant mcp`, asked by the package's own client over a real process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from command_line import error_line

from operant.shared.page.schema import Metric
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.run_notes import RunNotes, change_notes
from operant.shared.runs.session import RunSession

is_missing = importlib.util.find_spec("mcp") is None
pytestmark = [
    pytest.mark.skipif(is_missing, reason="the extra mcp is not installed"),
    pytest.mark.slow,
]
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
TOOLS = {"list_runs", "run_status", "metric_history", "run_config", "run_events", "run_console"}
ESCAPE = "\x1b[31mred\x07"


@asynccontextmanager
async def connected():
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "operant", "mcp"], env=dict(os.environ)
    )
    async with Client(stdio_client(server)) as client:
        yield client


def asked(*questions):
    """The answers of one server, in turn; the texts of errors as they are."""

    async def ask():
        async with connected() as client:
            results = [await client.call_tool(name, given) for name, given in questions]
        return [
            result.content[0].text if result.is_error else result.structured_content
            for result in results
        ]

    return asyncio.run(ask())


def new_run(name, num_rows=1, config=None, **values):
    run, lock = create_run(name, {"device": "cpu"} | ({"config": config} if config else {}), rank=0)
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.describe(Metric("loss/value", "nats", description="how wrong"))
    for row in range(1, num_rows + 1):
        session.metrics.publish({"loss/value": float(row), **values}, row, 10 * row)
    return run, session


def test_all_tools_say_what_they_take_and_that_they_only_read():
    async def ask():
        async with connected() as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(ask())}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert tool.annotations.read_only_hint
        for argument in tool.input_schema["properties"].values():
            assert argument["description"]


def test_runs_are_found_by_the_filter_of_the_list():
    first, one = new_run("first", config={"env": "cart_pole", "ppo": {"gamma": 0.9}})
    second, two = new_run("second", config={"env": "pendulum", "ppo": {"gamma": 0.5}})
    one.close("finished", 0)
    two.close("failed", 1, "no good")
    change_notes(second.folder, lambda notes: RunNotes("", "a note", ("bad",)))
    every, cart, low, tagged, none, wrong, short = asked(
        ("list_runs", {}),
        ("list_runs", {"filter": "env:cart"}),
        ("list_runs", {"filter": "ppo.gamma<0.7 state:failed"}),
        ("list_runs", {"filter": "tag:bad"}),
        ("list_runs", {"filter": "state:running"}),
        ("list_runs", {"filter": "nonsense>1"}),
        ("list_runs", {"limit": 1}),
    )
    assert [each["run"] for each in every["runs"]] == [second.id, first.id]
    assert (every["num_found"], every["left_out"]) == (2, 0)
    assert [each["run"] for each in cart["runs"]] == [first.id]
    assert [each["run"] for each in low["runs"]] == [second.id]
    assert [each["run"] for each in tagged["runs"]] == [second.id]
    assert (low["runs"][0]["message"], low["runs"][0]["note"]) == ("no good", "a note")
    assert none["runs"] == []
    assert "no run has 'nonsense'" in wrong
    assert (short["num_found"], short["left_out"]) == (2, 1)


def test_a_run_tells_its_state_metrics_settings_and_events():
    run, session = new_run("test", config={"env": "cart_pole", "ppo": {"gamma": 0.9}})
    session.metrics.publish({"bad": float("nan"), "worse": float("inf")}, 2, 20)
    session.metrics.event("info", "all is well")
    session.metrics.event("warning", "careful")
    run.console_path().write_text("begun\nwarned\nended\n")
    status, few, config, events, warnings, console = asked(
        ("run_status", {}),
        ("run_status", {"run": "test", "metrics": "loss"}),
        ("run_config", {"keys": "gamma"}),
        ("run_events", {}),
        ("run_events", {"level": "warning", "text": "care"}),
        ("run_console", {"limit": 1, "text": "ed"}),
    )
    session.close("finished", 0)
    assert (status["run"], status["state"], status["env_steps"]) == (run.id, "running", 20)
    assert (status["env"], status["device"]) == ("cart_pole", "cpu")
    values = {each["name"]: each["value"] for each in status["metrics"]}
    assert values == {"loss/value": 1.0, "bad": None, "worse": None}
    assert few["metrics"] == [
        {"name": "loss/value", "value": 1.0, "unit": "nats", "description": "how wrong"}
    ]
    assert config["settings"] == [{"key": "ppo.gamma", "value": "0.9"}]
    assert [event["text"] for event in events["events"]][:2] == ["careful", "all is well"]
    assert [event["level"] for event in warnings["events"]] == ["warning"]
    assert (console["lines"], console["left_out"]) == (["ended"], 1)


def test_a_history_keeps_every_lowest_and_highest_value_in_few_points():
    run, session = new_run("long", num_rows=5000)
    session.metrics.publish({"loss/value": -7.0, "rare": 1.0}, 5001, 50_010)
    session.close("finished", 0)
    (answer,) = asked(("metric_history", {"metrics": ["loss/value", "rare"], "points": 20}))
    assert answer["run"] == run.id
    long, rare = answer["metrics"]
    assert (len(long["points"]), long["is_downsampled"], long["unit"]) == (20, True, "nats")
    assert long["points"][-1]["env_steps"] == 50_010
    steps = [point["env_steps"] for point in long["points"]]
    assert steps == sorted(steps)
    assert min(point["min"] for point in long["points"]) == -7.0
    assert max(point["max"] for point in long["points"]) == 5000.0
    (only,) = rare["points"]
    assert (only["env_steps"], only["value"], rare["is_downsampled"]) == (50_010, 1.0, False)


def test_a_mean_is_that_of_all_rows_behind_it():
    _run, session = new_run("long", num_rows=5001)
    session.close("finished", 0)
    (answer,) = asked(("metric_history", {"metrics": ["loss/value"], "points": 2}))
    # 5,001 rows of 1 to 5,001 in points of 4 rows each, the newest of one.
    first, second = answer["metrics"][0]["points"]
    last_of_first = first["max"]
    assert first["mean"] == pytest.approx((1 + last_of_first) / 2)
    assert second["mean"] == pytest.approx((last_of_first + 1 + 5001) / 2)


def test_wrong_questions_are_answered_in_a_line_and_the_next_is_answered():
    run, session = new_run("test")
    session.close("finished", 0)
    (run.folder.parent / "20261121-000000-odd-aaaa" / "run.toml").mkdir(parents=True)
    *wrong, good = asked(
        ("run_status", {"run": "zzz"}),
        ("run_status", {"run": "2026"}),
        ("metric_history", {"run": "test", "metrics": ["loss/valu"]}),
        ("metric_history", {"metrics": []}),
        ("metric_history", {"metrics": ["loss/value"] * 11}),
        ("metric_history", {"metrics": ["loss/value"], "points": 10**9}),
        ("metric_history", {"metrics": ["loss/value"], "points": 1}),
        ("list_runs", {"limit": 0}),
        ("list_runs", {"filter": "x" * 2000}),
        ("list_runs", {"filter": "state:"}),
        ("run_events", {"run": "test", "level": "loud"}),
        ("run_config", {"run": "odd"}),
        ("run_status", {"runn": "test"}),
        ("metric_history", {"metrics": "loss/value"}),
        ("list_runs", {"limit": "many"}),
        ("run_status", {"run": "test"}),
    )
    told = [
        "no run is called 'zzz'", "matches 2 runs", "did you mean 'loss/value'", "name 1 to 10",
        "name 1 to 10", "not between 2 and 500", "not between 2 and 500", "not between 1 and 100",
        "up to 1000 characters", "needs a value", "level = loud", "cannot be read",
        "no argument 'runn'; did you mean 'run'?", "metrics: Input should be", "limit: Input",
    ]  # fmt: skip
    for text, words in zip(wrong, told, strict=True):
        assert words in text
        assert "\n" not in text
        assert "Traceback" not in text
    assert good["run"] == run.id


def test_what_a_terminal_would_obey_and_what_has_no_end_goes_nowhere():
    names = {f"group/{ESCAPE}{number:04}": 1.0 for number in range(400)}
    run, session = new_run(f"odd{ESCAPE}", **names)
    with run.manifest_path.open("a") as file:
        file.write("[config]\n")
        for number in range(400):
            file.write(f'key{number:04} = "{"long " * 200}\\u001b[31mred"\n')
    session.metrics.event("error", ESCAPE + "x" * 5000)
    session.close("failed", 1, ESCAPE + "m" * 5000)
    change_notes(run.folder, lambda notes: RunNotes("", "words " * 100, ("a",)))
    answers = asked(
        ("list_runs", {}), ("run_status", {}), ("run_config", {}), ("run_events", {}),
        ("metric_history", {"metrics": ["loss/value"]}), ("run_status", {"run": ESCAPE}),
    )  # fmt: skip
    for answer in answers:
        text = json.dumps(answer, ensure_ascii=False)
        assert "\x1b" not in text
        assert "\\u001b" not in text
        assert "\x07" not in text
        assert len(text) < 300_000
    assert (len(answers[1]["metrics"]), answers[1]["metrics_left_out"]) == (300, 101)
    assert len(answers[2]["settings"]) == 300
    assert answers[2]["settings_left_out"] > 0


def test_nothing_but_the_protocol_is_on_standard_output_and_nothing_is_changed(operant_home):
    run, session = new_run("test")
    session.close("finished", 0)
    before = files_of(operant_home)
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "run_status", "arguments": {}}}  # fmt: skip
    process = server()
    tell(process, HELLO, begun, call)
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    rest, complaints = process.communicate()  # closes its input, which ends it
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["run"] == run.id
    assert (rest, complaints, process.returncode) == ("", "", 0)
    assert files_of(operant_home) == before


@pytest.mark.timeout(120)  # a line without an answer would be waited for
def test_every_line_is_answered_whatever_it_holds():
    _run, session = new_run("test")
    session.close("finished", 0)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "run_status", "arguments": {"run": "half \ud800"}}}  # fmt: skip
    process = server()
    tell(process, HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    for line in ("{not json", "", "[1, 2]", '{"jsonrpc": "2.0", "id": 7}', '"\\ud800'):
        process.stdin.write(line + "\n")
    tell(process, call, {"jsonrpc": "2.0", "id": "\ud800", "method": "ping"})
    _, *answers = [json.loads(process.stdout.readline()) for _ in range(7)]
    rest, complaints = process.communicate()  # what it was still busy with would have no answer
    told = {(answer["id"], answer.get("error", {}).get("code")) for answer in answers}
    assert told == {(None, -32700), (None, -32600), (7, -32600), (2, None), ("?", None)}
    (answer,) = [each for each in answers if each["id"] == 2]
    assert "no run is called 'half ?'" in answer["result"]["content"][0]["text"]
    assert (rest, complaints) == ("", "")


@pytest.mark.parametrize("own_id", ["1.5", "true", "null", "{}", "[1]", "1e999", "NaN"])
def test_a_request_whose_id_is_neither_text_nor_whole_number_is_answered(own_id):
    process = server()
    tell(process, HELLO)
    assert process.stdout.readline()
    process.stdin.write(f'{{"jsonrpc": "2.0", "id": {own_id}, "method": "ping"}}\n')
    tell(process, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
    answer = json.loads(process.stdout.readline())
    process.communicate()
    assert answer == {
        "jsonrpc": "2.0", "id": None,
        "error": {"code": -32600, "message": "the id of a request must be a string or an integer"},
    }  # fmt: skip


def test_a_filter_takes_regular_expressions():
    _run, session = new_run("a" * 40 + "-test")
    session.close("finished", 0)
    found = asked(
        ("list_runs", {"filter": "/b+$/"}),
        ("list_runs", {"filter": "name~(a|b)*-test"}),
        ("list_runs", {"filter": "-~^2.*a+"}),
    )
    assert [answer["num_found"] for answer in found] == [0, 1, 0]


def test_it_ends_at_ctrl_c_and_once_nobody_hears_it():
    process = server()
    tell(process, HELLO)
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT  # its input is still open
    deaf = server()
    tell(deaf, HELLO)
    assert deaf.stdout.readline()
    deaf.stdout.close()
    tell(deaf, {"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert deaf.wait(60) == -signal.SIGPIPE
    assert process.stderr.read() == deaf.stderr.read() == ""


def server():
    return subprocess.Popen(
        [sys.executable, "-m", "operant", "mcp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def tell(process, *messages):
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_without_the_package_one_line_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'mcp' else find(name, package)\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert "pip install 'operant-rl[mcp]'" in error_line("mcp")
