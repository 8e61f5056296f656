"""A browser context that is logged in, and that keeps what its pages complained of and asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from relaybay.api.gate import COOKIE
from tests.browser.world import World

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
_REPORTS = """
addEventListener("securitypolicyviolation", (event) => console.error(
  `CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    // A text that became longer where it stands has moved nothing.
    const moved = entry.sources.some(({ previousRect: old, currentRect: now }) => old.x !== now.x || old.y !== now.y);
    if (!entry.hadRecentInput && moved) window.shifts += entry.value;
  }
}).observe({ type: "layout-shift", buffered: true });
"""
SETTLED = """() => {
  const lamp = document.querySelector("#lamp");
  return document.readyState === "complete" && (!lamp || /live/i.test(lamp.textContent) && !/not/i.test(lamp.textContent));
}"""


class Opened:
    """One context. `expected` holds beginnings of complaints that a test makes come up on purpose."""

    def __init__(self, browser: Any, world: World, *, login: bool = True, **context: Any) -> None:
        self.world = world
        self.expected: tuple[str, ...] = ()
        self.requests: list[str] = []
        self._complaints: list[str] = []
        self._scripts = context.get("java_script_enabled", True)
        self.context = browser.new_context(**{"viewport": DESK, "color_scheme": "light", **context})
        self.context.set_default_timeout(10_000)
        if self._scripts:
            self.context.add_init_script(_REPORTS)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self._complaints.append(f"uncaught: {error.error}"))
        if login:
            # As `/login` sets it; that way in has a test of its own.
            self.context.add_cookies(
                [{"name": COOKIE, "value": world.cookie, "url": world.url, "httpOnly": True, "sameSite": "Strict"}]
            )

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._complaints.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def page(self, path: str = "/", *, settled: bool = True) -> Any:
        """A new tab on this address, with its lamp lit unless told otherwise."""
        page = self.context.new_page()
        page.goto(self.world.url + path)
        if settled and self._scripts:
            page.wait_for_function(SETTLED)
        return page

    def close(self) -> list[str]:
        """Closes the context; what it complained of, and whom else it asked."""
        self.context.close()
        foreign = [url for url in self.requests if not url.startswith((self.world.url, "data:", "blob:", "about:"))]
        unexpected = [text for text in self._complaints if not text.startswith(self.expected or ("\0",))]
        return [*unexpected, *(f"asked another origin: {url}" for url in foreign)]


def until(holds: Callable[[], Any], seconds: float = 10.0, what: str = "") -> Any:
    """Waits until `holds()` gives something true, and gives it. For what no page can be asked about."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, what or "it did not come about"
        time.sleep(0.05)
