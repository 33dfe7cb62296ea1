"""`operant monitor --web`: over HTTP, its websocket, and in a real browser where there is one."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from unittest.mock import AsyncMock

import psutil
import pytest
from browser import MISSING, opened
from command_line import error_line
from waiting import wait_for

from operant.shared.install_command import install_command
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

is_missing = importlib.util.find_spec("textual_serve") is None
pytestmark = [
    pytest.mark.skipif(is_missing, reason="the extra web is not installed"),
    pytest.mark.slow,
]
PATIENCE_S = 300


@pytest.fixture
def run():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    for number in range(1, 30):
        session.metrics.publish({"episode/return": float(number)}, number, 100 * number)
    session.close("finished", 0)
    return run


@pytest.fixture
def serve(tmp_path):
    """Start a server; gives the process and the address that it prints. What it says besides is in
    `errors.txt`.
    """
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "operant", "monitor", "--web", "--port", "0", *arguments]
        with (tmp_path / "errors.txt").open("w") as errors:  # a pipe would be its screens' as well
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        processes.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


async def screen_text(url, wanted):
    """Read the websocket behind `url` until `wanted` arrives."""
    import aiohttp

    text = ""
    address = f"{url}ws?width=100&height=30"
    async with aiohttp.ClientSession() as session, session.ws_connect(address) as websocket:
        while wanted not in text:
            text += (await websocket.receive_bytes()).decode("utf-8", "replace")
        await websocket.send_json(["stdin", "q"])
        async for _ in websocket:  # until the screen has closed it
            pass
    return text


def test_nothing_is_served_without_the_token(run, serve):
    import aiohttp

    _, url = serve("--latest")
    root, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/([\w-]{32})/", url).groups()

    async def statuses(paths):
        async with aiohttp.ClientSession() as session:
            answers = {}
            for path in paths:
                async with session.get(f"{root}{path}") as answer:
                    answers[path] = answer.status
            for path in ("/ws", "/x/ws", f"/{token[:-1]}/ws"):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await session.ws_connect(f"{root}{path}")
                answers[f"ws {path}"] = refused.value.status
            async with session.get(url) as answer:
                page, headers = await answer.text(), answer.headers
            async with session.get(url.rstrip("/")) as answer:  # as some copy an address
                assert await answer.text() == page
        return answers, page, headers

    paths = ["/", "/ws", "/static/js/textual.js", "/download/x", f"/{token[:-1]}/", f"/x{token}/",
             f"//{token}/", f"/x/../{token[1:]}/", f"/?token={token}"]  # fmt: skip
    answers, page, headers = asyncio.run(statuses(paths))
    assert set(answers.values()) == {404}
    assert f"/{token}/ws" in page
    assert "<title>operant" in page
    assert "xterm-helper-textarea" in page  # which the keys go to, without a click
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'self'" in headers["Content-Security-Policy"]


def test_what_is_no_request_for_a_page_is_refused_and_says_nothing_here(run, serve, tmp_path):
    _, url = serve("--latest")
    port = int(re.search(r":(\d+)/", url)[1])

    def answer(start):
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            connection.sendall(start + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
            return connection.makefile("rb").readline().split()[1]

    starts = [b"OPTIONS * HTTP/1.1", b"CONNECT x:80 HTTP/1.1", b"GET http://x HTTP/1.1"]
    assert [answer(start) for start in starts] == [b"404"] * 3
    assert answer(b"GET / HTTP/1.1\r\nX: \x1b[2J" + b"a" * 100_000) == b"400"
    (line,) = (tmp_path / "errors.txt").read_text().splitlines()
    assert line.startswith("Who has this address")


def test_a_run_and_the_list_come_over_the_websocket(run, serve):
    _, of_run = serve(run.id, "--theme", "light")
    assert "episode/return" in asyncio.run(
        asyncio.wait_for(screen_text(of_run, "episode/return"), PATIENCE_S)
    )
    _, of_all = serve()
    assert "1 run" in asyncio.run(asyncio.wait_for(screen_text(of_all, "1 run"), PATIENCE_S))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_server_leaves_nothing_behind_however_it_ends(run, serve, number, tmp_path):
    process, url = serve(run.id)

    async def watched():
        import aiohttp

        async with aiohttp.ClientSession() as session, session.ws_connect(f"{url}ws") as websocket:
            await asyncio.wait_for(websocket.receive_bytes(), PATIENCE_S)
            screens = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(number)
            while (await websocket.receive()).type == aiohttp.WSMsgType.BINARY:
                pass
        return screens

    screens = asyncio.run(watched())
    assert screens
    wait_for(lambda: process.poll() is not None)
    wait_for(lambda: not any(map(psutil.Process.is_running, screens)))
    if number == signal.SIGINT:
        assert process.returncode in (0, 130)
        assert "Traceback" not in (tmp_path / "errors.txt").read_text()


def screens_of(process):
    return psutil.Process(process.pid).children(recursive=True)


@asynccontextmanager
async def program_of_a_page(line):
    """Run the shell command `line` as the program of a web page, in place of the monitor."""
    from textual_serve.download_manager import DownloadManager

    from operant.commands.helpers.web_monitor import Screen

    life, life_end = os.pipe()
    nothing = AsyncMock()
    screen = Screen(
        shlex.join(["sh", "-c", line]), life, write_bytes=nothing, write_str=nothing,
        close=nothing, download_manager=DownloadManager(),
    )  # fmt: skip
    await screen.start(80, 24)
    try:
        yield screen
    finally:
        await screen.stop()
        os.close(life)
        os.close(life_end)


async def text_in(path, wanted):
    """The text of a file once `wanted` is in it."""
    while not (path.exists() and wanted in path.read_text(errors="replace")):
        await asyncio.sleep(0.01)
    return path.read_text(errors="replace")


def test_what_a_page_has_started_ends_with_it(tmp_path):
    path = tmp_path / "pid"

    async def show_and_leave():
        async with program_of_a_page(f"sleep 1000 & echo $! > {path}; wait"):
            return psutil.Process(int(await text_in(path, "\n")))

    child = asyncio.run(asyncio.wait_for(show_and_leave(), PATIENCE_S))
    try:
        assert psutil.wait_procs([child], 60)[0]
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def test_neither_a_large_paste_nor_absurd_sizes_reach_the_program(tmp_path):
    path = tmp_path / "input"

    async def paste_and_resize():
        async with program_of_a_page(f"cat > {path}") as screen:
            await screen.send_bytes(b"x" * 3_000_000)
            for size in ((10**12, 10**12), (-1, 0), ("x", None), (1e308, True)):
                await screen.set_terminal_size(*size)
            await screen.set_terminal_size(80, 24)
            return await text_in(path, '"height": 24}')

    text = asyncio.run(asyncio.wait_for(paste_and_resize(), PATIENCE_S))
    sizes = re.findall(r'"width": (\S+), "height": (\S+)}', text)
    assert sizes == [("1000", "500"), ("1", "1"), ("1", "1"), ("1000", "1"), ("80", "24")]
    assert "xxx" not in text


def test_pages_from_elsewhere_are_refused(run, serve):
    import aiohttp

    process, url = serve(run.id)

    async def status(origin):
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{url}ws", origin=origin)
        return refused.value.status

    for origin in ("http://evil.example.org", "null", "http://127.0.0.1:1"):
        assert asyncio.run(asyncio.wait_for(status(origin), PATIENCE_S)) == 403
    assert not screens_of(process)

    async def own():
        origin = url.split("/", 3)
        async with aiohttp.ClientSession() as session:
            address = "/".join(origin[:3])
            async with session.ws_connect(f"{url}ws", origin=address) as websocket:
                return (await websocket.receive()).type

    assert asyncio.run(asyncio.wait_for(own(), PATIENCE_S)) == aiohttp.WSMsgType.BINARY


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is one")
def test_a_browser_shows_the_monitor_and_its_keys_work(run, serve, tmp_path):
    _, url = serve(run.id)

    async def look():
        async with opened(url, tmp_path / "profile") as page:
            await page.wait_for("document.body.classList.contains('-first-byte')")
            await page.wait_for_text("episode/return")
            assert await page.value("document.querySelector('.xterm') !== null")
            await page.picture(tmp_path / "before.png")
            await page.press("?")
            await page.wait_for_text("this help")
            await page.press("q")
            await page.press("q")
            await page.wait_for("document.body.classList.contains('-closed')")

    asyncio.run(asyncio.wait_for(look(), PATIENCE_S))
    assert (tmp_path / "before.png").stat().st_size > 10_000


def test_wrong_input_is_one_line(run):
    assert "no run is called 'zzz'" in error_line("monitor", "--web", "zzz")
    assert "--web shows a screen" in error_line("monitor", "--web", "--once")
    assert "need --web" in error_line("monitor", "--port", "9000")
    assert "cannot listen at 192.0.2.1" in error_line("monitor", "--web", "--address", "192.0.2.1")


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, package=None: None if name == "textual_serve" else find(name, package),
    )
    assert install_command("web") in error_line("monitor", "--web")
