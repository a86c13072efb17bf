"""The browser of this process: started when needed, a profile for each session, closed when idle."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from colleague.agent.browser.filter_proxy import FilterProxy
from colleague.errors import ColleagueError
from colleague.web_addresses import AddressRules

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
IDLE_SECONDS = 600.0
MOST_BYTES = 50_000_000
"""Of one connection."""
ARGUMENTS = (
    "--disable-quic",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-features=DnsOverHttps,AsyncDns,OptimizationHints,MediaRouter",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--js-flags=--max-old-space-size=512",
)
"""The browser looks no name up and sends nothing around the proxy: no QUIC, no WebRTC, no DNS of its own."""


class BrowserFailed(ColleagueError):
    """The browser did not do it."""


def missing_browser() -> str:
    """Why there is no browser; empty when there is one."""
    if importlib.util.find_spec("playwright") is None:
        return "the library playwright is not installed: pip install 'colleague[browser]'"
    return "" if browser_program() else f"no Chromium is installed ({', '.join(PROGRAMS)})"


def browser_program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@dataclass
class _Profile:
    """What one session has open. Cookies and pages are its own, and gone when it is closed."""

    context: BrowserContext
    page: Page
    used_at: float = field(default_factory=time.monotonic)


class Browsers:
    """An async context manager, for one event loop. Leaving it closes everything."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._profiles: dict[tuple[str, AddressRules], _Profile] = {}
        self._running: dict[AddressRules, tuple[AsyncExitStack, Any]] = {}
        self._lock = asyncio.Lock()
        self._sweeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._close_all()

    async def page(self, session: str, rules: AddressRules) -> Page:
        """The page of a session; a blank one when it has none."""
        async with self._lock:
            profile = self._profiles.get((session, rules))
            if profile is None or profile.page.is_closed():
                profile = await self._opened(rules)
                self._profiles[session, rules] = profile
            profile.used_at = time.monotonic()
            return profile.page

    async def close(self, session: str) -> None:
        async with self._lock:
            for key in [each for each in self._profiles if each[0] == session]:
                await _closed(self._profiles.pop(key))

    async def _opened(self, rules: AddressRules) -> _Profile:
        from playwright.async_api import Error

        try:
            if rules not in self._running:
                self._running[rules] = await _start(rules)
            context = await self._running[rules][1].new_context(accept_downloads=False)
            page = await context.new_page()
        except (Error, OSError) as error:
            self._running.pop(rules, None)
            raise BrowserFailed(f"the browser cannot be started: {_first_line(error)}") from None
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        context.on("page", lambda other: _only(page, other))
        return _Profile(context, page)

    async def _sweep(self) -> None:
        """Closes what nobody has used for a while, and the browser itself when nobody has anything open."""
        while True:
            await asyncio.sleep(self._idle_seconds / 10)
            async with self._lock:
                before = time.monotonic() - self._idle_seconds
                for key in [key for key, each in self._profiles.items() if each.used_at < before]:
                    await _closed(self._profiles.pop(key))
                if not self._profiles:
                    await self._stop()

    async def _close_all(self) -> None:
        async with self._lock:
            for profile in self._profiles.values():
                await _closed(profile)
            self._profiles.clear()
            await self._stop()

    async def _stop(self) -> None:
        for stack, _ in self._running.values():
            await stack.aclose()
        self._running.clear()


async def _start(rules: AddressRules) -> tuple[AsyncExitStack, Any]:
    from playwright.async_api import async_playwright

    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(FilterProxy(rules, MOST_BYTES).serving())
        library = await stack.enter_async_context(async_playwright())
        browser = await library.chromium.launch(
            executable_path=browser_program(),
            args=list(ARGUMENTS),
            proxy={"server": proxy, "bypass": "<-loopback>"},
            chromium_sandbox=os.geteuid() != 0,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        stack.push_async_callback(browser.close)
        return stack.pop_all(), browser


def _only(page: Page, other: Page) -> None:
    """Pages that open by themselves are closed: an agent has one."""
    if other is not page:
        task = asyncio.ensure_future(other.close())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _closed(profile: _Profile) -> None:
    from playwright.async_api import Error

    with contextlib.suppress(Error):
        await profile.context.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
