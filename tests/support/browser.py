"""A headless browser as people have one, driven over its debugging port."""

from __future__ import annotations

import asyncio
import base64
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)
MISSING = "" if BROWSER else "there is no Chromium here to look with"


class Page:
    """One page: what it draws, what its websockets bring, and keys that are pressed in it."""

    def __init__(self, websocket: Any) -> None:
        self._websocket, self._number = websocket, 0
        self.received = ""  # of all frames that came over websockets
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    async def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        message = {"id": self._number, "method": method, "params": parameters}
        await self._websocket.send_json(message)
        return await answer

    async def value(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    async def press(self, key: str) -> None:
        await self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self, path: Path) -> None:
        told = await self.ask("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(told["data"]))

    async def wait_for(self, expression: str) -> None:
        """Until it is true in the page."""
        while not await self.value(expression):
            await asyncio.sleep(0.05)

    async def wait_for_text(self, text: str) -> None:
        """Until a frame of a websocket has brought it."""
        while text not in self.received:
            await asyncio.sleep(0.05)

    async def _read(self) -> None:
        async for message in self._websocket:
            told = message.json()
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told.get("result"))
            elif told["method"] == "Network.webSocketFrameReceived":
                frame = told["params"]["response"]
                data = frame["payloadData"]
                if frame["opcode"] == 2:
                    data = base64.b64decode(data).decode("utf-8", "replace")
                self.received += data


@asynccontextmanager
async def opened(url: str, profile: Path, size: str = "1200,800") -> AsyncIterator[Page]:
    """A page at `url`, in a browser that ends with it."""
    import aiohttp

    assert BROWSER
    process = await asyncio.create_subprocess_exec(
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={size}",
        "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        announced = profile / "DevToolsActivePort"
        while not announced.exists() or "\n" not in announced.read_text():
            await asyncio.sleep(0.05)
        port = announced.read_text().split()[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                (target,) = [each for each in await answer.json() if each["type"] == "page"]
            address = target["webSocketDebuggerUrl"]
            async with session.ws_connect(address, max_msg_size=0) as websocket:
                page = Page(websocket)
                await page.ask("Network.enable")
                await page.ask("Page.navigate", url=url)
                yield page
    finally:
        process.kill()
        await process.wait()
