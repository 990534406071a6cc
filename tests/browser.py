"""A headless Chromium, driven over its DevTools protocol; what its sockets bring is drawn on a screen of ours.

The terminal of the page draws on a canvas, which nobody can read: so the test
reads what the browser has received, and a person looks at the picture.
"""

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

from agent_exec.terminal.screen import Screen
from support import wait_until

Value = TypeVar("Value")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = 600
"""Windows of fewer pixels than this are a phone's."""
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--remote-debugging-port=0",
)


class Tab:
    """One tab, and all that it asked for."""

    def __init__(self, wire: aiohttp.ClientWebSocketResponse, width: int, height: int) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._session: str | None = None
        self._news = asyncio.Event()
        self.width, self.height = width, height
        self.screen = Screen(200, 400)
        self.asked: list[str] = []
        self.failed: list[str] = []
        self.sockets = 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; return its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._wire.send_str(json.dumps(message))
        return await asyncio.wait_for(answer, 30)

    async def listen(self) -> None:
        """Take what the browser says, until it hangs up."""
        async for message in self._wire:
            told = json.loads(message.data)
            if "id" in told:
                answer = self._answers.pop(told["id"])
                if "error" in told:
                    answer.set_exception(AssertionError(told["error"]))
                else:
                    answer.set_result(told["result"])
            else:
                self._note(told["method"], told["params"])
                self._news.set()

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif event == "Network.webSocketCreated":
            self.asked.append(params["url"])
            self.sockets += 1
            self.screen = Screen(self.screen.rows, self.screen.columns)
        elif event == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
            self.screen.feed(base64.b64decode(params["response"]["payloadData"]))
        elif event == "Network.webSocketFrameSent" and params["response"]["payloadData"].startswith(
            '["resize'
        ):
            size = json.loads(params["response"]["payloadData"])[1]
            self.screen.resize(size["height"], size["width"])
        elif event == "Log.entryAdded":
            self.failed.append(params["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.failed.append(json.dumps(params["exceptionDetails"]))

    async def open(self, address: str) -> None:
        """Be a new tab with this address."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Page", "Log", "Runtime"):
            await self.call(f"{domain}.enable")
        await self.resize(self.width, self.height)
        await self.go(address)

    async def resize(self, width: int, height: int) -> None:
        """Change the size of the window."""
        self.width, self.height = width, height
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < PHONE,
        )

    async def click(self, selector: str) -> None:
        """Wait for an element, and click on it."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.becomes(f"!!{found}", True)
        await self.value(f"{found}.click()")

    async def go(self, address: str) -> None:
        """Go to another address."""
        await self.call("Page.navigate", url=address)

    async def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something that the browser tells makes a condition true."""
        async with asyncio.timeout(60):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def sees(self, text: str) -> None:
        """Wait until a text was drawn."""
        try:
            await self.until(lambda: text in self.screen.text())
        except TimeoutError:
            raise AssertionError(f"{text!r} is not on the screen:\n{self.screen.text()}") from None

    async def becomes(self, expression: str, wanted: object) -> None:
        """Wait until a JavaScript expression has a value."""
        async with asyncio.timeout(30):
            while await self.value(expression) != wanted:
                await asyncio.sleep(0.02)

    async def shows(self, text: str) -> None:
        """Wait until the page shows a text."""
        try:
            await self.becomes(f"!!document.body?.innerText.includes({json.dumps(text)})", True)
        except TimeoutError:
            seen = await self.value("document.body.innerText")
            raise AssertionError(f"the page does not show {text!r}:\n{seen}\n{self.failed}") from None

    async def type(self, text: str) -> None:
        """Press the key of each character."""
        for mark in text:
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=mark, key=mark)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=mark)

    async def press(self, key: str, code: int, *, control: bool = False) -> None:
        """Press a key that has a name, such as Enter, 13."""
        text = {"text": "\r"} if key == "Enter" else {}
        held = {"modifiers": 2} if control else {}
        known = {"key": key, "windowsVirtualKeyCode": code, **held}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **known, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    async def picture(self) -> bytes:
        """Return what is seen, as a PNG, once the browser has painted what it knows."""
        await self.call(
            "Runtime.evaluate",
            expression="new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
            awaitPromise=True,
        )
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    async def close(self) -> None:
        """Close the whole browser."""
        self._session = None
        await self.call("Browser.close")


def browse(
    profile: Path,
    address: str,
    work: Callable[[Tab], Awaitable[Value]],
    *,
    width: int = 1100,
    height: int = 640,
) -> Value:
    """Open an address in a new browser, do some work there, close it; return what came of it."""
    assert CHROMIUM is not None

    async def conversation(wire_address: str) -> Value:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(wire_address, max_msg_size=0) as wire,
        ):
            tab = Tab(wire, width, height)
            listening = asyncio.create_task(tab.listen())
            try:
                await tab.open(address)
                return await work(tab)
            finally:
                await tab.close()
                await listening

    with subprocess.Popen(
        [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            port = profile / "DevToolsActivePort"
            wait_until(lambda: port.is_file() and len(port.read_text().splitlines()) == 2, seconds=60)
            number, path = port.read_text().splitlines()
            found = asyncio.run(conversation(f"ws://127.0.0.1:{number}{path}"))
            process.wait(30)
            return found
        finally:
            process.kill()
