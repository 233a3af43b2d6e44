"""A headless Chromium for tests of the report, spoken to over a pipe in its own DevTools protocol.

Read by the tests of the report. Loads local files only, from a profile folder of its own, and
records every console message and every request that a page makes.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
INSTALL: Final = "install it (Debian: apt-get install chromium; Fedora: dnf install chromium)"
PATIENCE: Final = 90.0
"""Seconds that an answer may take on a busy machine."""
_OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)


class ChromiumError(Exception):
    """The browser is missing, died or answered with an error."""


def found() -> str | None:
    """Path of a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page, with what it said on the console and what it asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.console: list[str] = []
        self.requests: list[str] = []
        self.is_loaded = False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """The answer to one command."""
        return self._browser.ask(method, session=self._session, **parameters)

    def open(self, path: Path) -> None:
        """Load a local file and wait until it has loaded."""
        self.is_loaded = False
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self._browser.wait(lambda: self.is_loaded)

    def looks_like(self, width: int, *, scheme: str = "light", medium: str = "screen") -> None:
        """Take a window width in pixels, a colour scheme, and screen or print."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.ask(
            "Emulation.setEmulatedMedia",
            media=medium,
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page says
        """The value of a JavaScript expression, evaluated from outside the page's policy."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise ChromiumError(f"{expression!r} failed in the page: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG file."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def hear(self, event: str, said: dict[str, Any]) -> None:
        """Note what the browser reports of this page."""
        match event:
            case "Page.loadEventFired":
                self.is_loaded = True
            case "Runtime.consoleAPICalled":
                self.console.append(f"{said['type']}: {said['args']}")
            case "Runtime.exceptionThrown":
                self.console.append(f"exception: {said['exceptionDetails']}")
            case "Log.entryAdded":
                self.console.append(f"{said['entry']['level']}: {said['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])


class Browser:
    """A running Chromium."""

    def __init__(self, executable: str) -> None:
        self._executable = executable
        self._pages: dict[str, Page] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._heard = b""

    def __enter__(self) -> Self:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        # Chromium reads descriptor 3 and writes 4; ends that stood there themselves would be
        # overwritten.
        ends = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (theirs_in, theirs_out)]
        silence = os.open(os.devnull, os.O_RDWR)
        self._process = os.posix_spawn(
            self._executable,
            [self._executable, *_OPTIONS, f"--user-data-dir={self._profile}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
                *((os.POSIX_SPAWN_DUP2, silence, one) for one in (0, 1, 2)),
            ],
            setpgroup=0,
        )
        for one in (theirs_in, theirs_out, silence, *ends):
            os.close(one)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._write)
        os.close(self._read)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._profile, ignore_errors=True)

    def page(self) -> Page:
        """A new page."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._pages[session] = page = Page(self, session)
        return page

    def ask(
        self,
        method: str,
        *,
        session: str | None = None,
        **parameters: Any,  # noqa: ANN401 - the protocol's own
    ) -> dict[str, Any]:
        """The answer to one command of the DevTools protocol."""
        self._asked += 1
        number = self._asked
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        self.wait(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise ChromiumError(f"{method} was refused: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def wait(self, is_there: Any) -> None:  # noqa: ANN401 - a question without arguments
        """Read what the browser says until `is_there()`."""
        end = time.monotonic() + PATIENCE
        while not is_there():
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            heard = os.read(self._read, 1 << 16) if ready else b""
            if not heard:
                raise ChromiumError(f"{self._executable} fell silent; start it by hand to see why")
            *whole, self._heard = (self._heard + heard).split(b"\0")
            for one in whole:
                self._take(json.loads(one))

    def _take(self, said: dict[str, Any]) -> None:
        if "id" in said:
            self._answers[said["id"]] = said
        elif (page := self._pages.get(said.get("sessionId", ""))) is not None:
            page.hear(said["method"], said["params"])
