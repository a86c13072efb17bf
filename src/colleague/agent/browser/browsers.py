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
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Self

from colleague.agent.browser.confined_browser import PORT, ConfinedBrowser
from colleague.agent.browser.downloads import SessionDownloads
from colleague.agent.browser.filter_proxy import FilterProxy
from colleague.errors import ColleagueError
from colleague.web_addresses import AddressRules

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

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


@dataclass(frozen=True)
class BrowserPlace:
    """Where a session's browser may go and may write. `top` is the folder of its file tools; None when it
    may not write. One that is `confined` runs in a sandbox, in a process that no other session uses."""

    session: str
    rules: AddressRules
    top: Path | None = None
    confined: bool = False

    @property
    def process(self) -> tuple[AddressRules, str]:
        """Who shares a Chromium."""
        return self.rules, self.session if self.confined else ""


@dataclass
class _Profile:
    """What one session has open. Cookies and pages are its own, and gone when it is closed."""

    context: BrowserContext
    page: Page
    downloads: SessionDownloads
    used_at: float = field(default_factory=time.monotonic)


class Browsers:
    """An async context manager, for one event loop. Leaving it closes everything."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._profiles: dict[BrowserPlace, _Profile] = {}
        self._running: dict[tuple[AddressRules, str], _Running] = {}
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

    async def page(self, place: BrowserPlace) -> Page:
        """The page of a session; a blank one when it has none."""
        async with self._lock:
            profile = self._profiles.get(place)
            if profile is None or profile.page.is_closed():
                profile = await self._opened(place)
                self._profiles[place] = profile
            profile.used_at = time.monotonic()
            return profile.page

    async def told_downloads(
        self, place: BrowserPlace, seconds: float, *, expects: bool = False
    ) -> list[str]:
        """What came of the files that pages sent since it was last asked. `expects`: one is on its way."""
        profile = self._profiles.get(place)
        return await profile.downloads.told(seconds, expects=expects) if profile else []

    async def close(self, session: str) -> None:
        async with self._lock:
            for key in [each for each in self._profiles if each.session == session]:
                await _closed(self._profiles.pop(key))
            await self._stop_unused()

    async def _opened(self, place: BrowserPlace) -> _Profile:
        from playwright.async_api import Error

        try:
            if place.process not in self._running:
                self._running[place.process] = await _start(place)
            running = self._running[place.process]
            context = await running.browser.new_context(accept_downloads=True)
            page = await context.new_page()
        except (Error, OSError) as error:
            if left := self._running.pop(place.process, None):
                await left.stack.aclose()
            raise BrowserFailed(f"the browser cannot be started: {_first_line(error)}") from None
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        downloads = SessionDownloads(place.top, running.downloads)
        page.on("download", downloads.begin)
        context.on("page", lambda other: _only(page, other))
        return _Profile(context, page, downloads)

    async def _sweep(self) -> None:
        """Closes what nobody has used for a while, and the browser itself when nobody has anything open."""
        while True:
            await asyncio.sleep(self._idle_seconds / 10)
            async with self._lock:
                before = time.monotonic() - self._idle_seconds
                for key in [key for key, each in self._profiles.items() if each.used_at < before]:
                    await _closed(self._profiles.pop(key))
                await self._stop_unused()

    async def _close_all(self) -> None:
        async with self._lock:
            for profile in self._profiles.values():
                await _closed(profile)
            self._profiles.clear()
            await self._stop_unused()

    async def _stop_unused(self) -> None:
        """Each Chromium that no profile is left of."""
        used = {each.process for each in self._profiles}
        for process in [each for each in self._running if each not in used]:
            await self._running.pop(process).stack.aclose()


@dataclass(frozen=True)
class _Running:
    """A Chromium, with what ends it, and where its downloads arrive."""

    stack: AsyncExitStack
    browser: Browser
    downloads: Path


async def _start(place: BrowserPlace) -> _Running:
    from playwright.async_api import async_playwright

    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="colleague-browser-")))
        inside = ConfinedBrowser(folder, browser_program() or "chromium")
        door = inside.door if place.confined else None
        proxy = await stack.enter_async_context(FilterProxy(place.rules, MOST_BYTES).serving(door))
        library = await stack.enter_async_context(async_playwright())
        browser = await library.chromium.launch(
            executable_path=inside.launcher() if place.confined else browser_program(),
            args=list(ARGUMENTS),
            proxy={"server": f"http://127.0.0.1:{PORT}" if door else proxy, "bypass": "<-loopback>"},
            downloads_path=inside.downloads,
            chromium_sandbox=os.geteuid() != 0 and not place.confined,
            env={"PATH": os.environ.get("PATH", os.defpath)},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        stack.push_async_callback(browser.close)
        return _Running(stack.pop_all(), browser, inside.downloads)


def _only(page: Page, other: Page) -> None:
    """Pages that open by themselves are closed: an agent has one."""
    if other is not page:
        task = asyncio.ensure_future(other.close())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _closed(profile: _Profile) -> None:
    from playwright.async_api import Error

    await profile.downloads.close()
    with contextlib.suppress(Error):
        await profile.context.close()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
