"""The gateway as a process: one port, the work inside, a stop that gives back what it cannot finish."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import uvicorn

from colleague import activity
from colleague.clock import Clock
from colleague.clock_file import home_clock
from colleague.config import Settings
from colleague.config.status import require_enforced
from colleague.descriptors import raise_descriptor_limit
from colleague.errors import ColleagueError
from colleague.experts.launch_acceptance import held_servers
from colleague.gateway.api.channels import take_from_plugin
from colleague.gateway.app import build
from colleague.gateway.gateway import Gateway
from colleague.gateway.limits import Limits
from colleague.gateway.listening import Listening
from colleague.gateway.live_settings import LiveSettings
from colleague.gateway.live_triggers import LiveTriggerRegistry
from colleague.gateway.metrics import Metrics
from colleague.gateway.protocol import GuardedProtocol
from colleague.gateway.readiness import Readiness
from colleague.gateway.throttle import Throttle
from colleague.home import Home
from colleague.hooks.events import GatewayStart, GatewayStop
from colleague.logs import write_log_summaries
from colleague.runtime.background import BackgroundServices
from colleague.runtime.gateway_file import announced, only_gateway, path_of
from colleague.runtime.host import Host, open_host
from colleague.runtime.process_restart import ProcessRestart
from colleague.runtime.run_events import RunWatchers
from colleague.threads import started_pool

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LAG_EVERY = 2.0
KEEP_ALIVE = 30
THREADS = 12
"""For files and other work that would hold up the loop."""
BACKLOG = 1024
"""Connections that wait in the kernel until they are accepted."""
HTTP_DRAIN = 5
GIVE_BACK_SECONDS = 1.0
"""After a second signal, for the runs that are held."""


@dataclass
class Stop:
    """How a server that runs is told to end: once for gently, twice for at once.

    At once still gives the runs back first: a person's interruption must not count as their crash."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: Callable[[], None] = lambda: os._exit(1)
    give_back: Callable[[], Awaitable[None]] | None = None
    restarts: bool = False
    """Whether it is to start again once it has ended."""
    _ending: asyncio.Future[None] | None = None

    def __call__(self) -> None:
        if not self.asked.is_set():
            self.asked.set()
        elif self.give_back is None or self._ending is not None:
            self.at_once()
        else:
            self._ending = asyncio.ensure_future(self._end_soon(self.give_back))

    def and_restart(self) -> None:
        """Ends gently, unless it ends already, and starts again."""
        if not self.asked.is_set():
            self.restarts = True
            self.asked.set()

    async def _end_soon(self, give_back: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                await give_back()
        finally:
            self.at_once()

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self)
        try:
            yield
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)


@dataclass(frozen=True)
class StartNotice:
    """What there is to tell when it listens."""

    url: str
    experts: tuple[str, ...]
    problems: tuple[str, ...]
    broken_triggers: tuple[str, ...] = ()

    def __str__(self) -> str:
        enabled = ", ".join(self.experts) or "none yet"
        trouble = f"; problems: {'; '.join(self.problems)}" if self.problems else ""
        lines = [f"Colleague listens on {self.url}; enabled experts: {enabled}{trouble}"]
        return "\n".join([*lines, *self.broken_triggers])


class HttpServer(uvicorn.Server):
    """Uvicorn inside our own loop: the signals are ours, and nothing wakes ten times a second to look
    whether it should end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._asked = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._asked.set()

    async def main_loop(self) -> None:
        """Once a second, for the date in the headers of every response."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._asked.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    home: Home,
    settings: Settings,
    listening: Listening,
    stop: Stop,
    *,
    on_ready: Callable[[StartNotice], None],
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> None:
    """Serves a home until it is told to stop. Raises when the home or the port is taken, anybody could come
    in, or the settings restrict what nothing enforces."""
    require_enforced(settings)
    environ, clock = os.environ if environ is None else environ, clock or home_clock(home)
    asyncio.get_running_loop().set_default_executor(started_pool(THREADS, "work"))
    limits = limits.within(
        raise_descriptor_limit(),
        servers=len(settings.mcp.servers),
        runs=settings.experts.max_concurrent_runs,
    )
    live = LiveSettings.of(home, settings, environ, listening)
    with only_gateway(home), contextlib.closing(listening.open()) as opened:
        live.listening = replace(listening, port=opened.getsockname()[1])
        async with (
            open_host(home, settings, environ, clock, restart=ProcessRestart(stop.and_restart)) as host,
            _opened(home, host, live, environ, clock, limits) as gateway,
        ):
            stop.give_back = gateway.services.worker.give_back_all
            await _serve_http(gateway, opened, stop, on_ready)


@contextlib.asynccontextmanager
async def _opened(
    home: Home, host: Host, live: LiveSettings, environ: Mapping[str, str], clock: Clock, limits: Limits
) -> AsyncIterator[Gateway]:
    """With its work going on beside the block, and the watch over files and loop."""
    registry = LiveTriggerRegistry(home)
    await registry.renew()
    services = BackgroundServices(home, host, live.settings, registry, clock, limits.drain_seconds)
    live.listeners.append(services.use)
    live.on_unenforced = services.worker.hold
    live.find_held = functools.partial(held_servers, host.database)
    watchers, throttle = RunWatchers(host.bus), Throttle(limits.failed_tries)
    background = services.background
    ready = Readiness(host.database, services.worker.health, background)
    gateway = Gateway(home, environ, clock, host, live, registry, services, watchers, throttle, ready, limits)
    async with services.open():
        background.start("settings", live.run)
        background.start("triggers", registry.run)
        background.start("loop watch", lambda: _watch_loop(gateway.metrics))
        try:
            yield gateway
        finally:
            await background.stop("settings", "triggers", "loop watch")


async def _serve_http(
    gateway: Gateway, opened: socket.socket, stop: Stop, on_ready: Callable[[StartNotice], None]
) -> None:
    config = uvicorn.Config(
        build(gateway),
        http=functools.partial(GuardedProtocol, limits=gateway.limits),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        # asyncio accepts so many in one turn of the loop, before the first of them can be refused
        backlog=gateway.limits.accepted_at_once,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, min(HTTP_DRAIN, int(gateway.limits.drain_seconds))),
    )
    server = HttpServer(config)
    listening = gateway.live.listening
    serving = asyncio.create_task(server.serve([opened]))
    auth = gateway.live.settings.gateway.auth
    own = auth.mode != "none" and auth.token is None
    with announced(gateway.home, listening.address, listening.port, own_token=own):
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        opened.listen(BACKLOG)
        with contextlib.suppress(OSError):  # whoever should read it has gone, which is no reason to stop
            on_ready(_ready(gateway))
        gateway.host.receiver.take = functools.partial(take_from_plugin, gateway)
        gateway.host.hooks.tell(GatewayStart(listening.url))
        asked = asyncio.create_task(stop.asked.wait())
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        log.info("stopping: nothing new is taken, what is under way has %g s", gateway.limits.drain_seconds)
        gateway.stopping.set()
        gateway.host.receiver.take = None
        gateway.watchers.close()
        await gateway.host.hooks.tell_and_wait(GatewayStop(listening.url))
        server.stop()
        await serving


def _ready(gateway: Gateway) -> StartNotice:
    enabled = {
        bound_trigger.key[0]
        for bound_trigger in gateway.registry.all()
        if bound_trigger.expert.record.enabled
    }
    broken = gateway.broken_triggers
    for each in broken:
        log.warning("%s", each, extra=activity.PRINTED)
    others = (
        *_model_problems(gateway, sorted(enabled)),
        *(each for each in gateway.problems if each not in broken),
    )
    return StartNotice(gateway.live.listening.url, tuple(sorted(enabled)), others, tuple(broken))


def _model_problems(gateway: Gateway, enabled: Sequence[str]) -> list[str]:
    """Of the default model, where one is set, and of the enabled experts: better said now than in each
    turn and run."""
    from colleague.experts.runs.preflight import Preflight

    chosen = gateway.live.settings.agents.defaults.model
    preflight = Preflight(gateway.home, gateway.live.settings, gateway.environ)
    failing: dict[str, list[str]] = {}
    for expert in ("", *enabled) if chosen is not None and chosen.primary else enabled:
        try:
            if expert:
                preflight.check_own_runs(expert)
            else:
                preflight.check_model("")
        except ColleagueError as error:
            failing.setdefault(error.sentence, []).append(expert)
    return [
        why if "" in experts else f"runs of {', '.join(experts)} fail: {why}"
        for why, experts in failing.items()
    ]


async def _watch_loop(metrics: Metrics) -> None:
    """How late the loop wakes, the worst of the last minute."""
    worst: list[float] = []
    while True:
        began = time.monotonic()
        await asyncio.sleep(LAG_EVERY)
        worst = [*worst[-29:], time.monotonic() - began - LAG_EVERY]
        metrics.loop_lag.set(max(worst))
        write_log_summaries()


async def serve_until_signalled(
    home: Home, settings: Settings, listening: Listening, say: Callable[[str], None]
) -> bool:
    """As a command does it. A second signal ends the process at once; everything is in the store.

    Whether it is to start again."""

    def at_once() -> None:
        path_of(home).unlink(missing_ok=True)
        os._exit(1)

    stop = Stop(at_once=at_once)
    with stop.on_signals():
        _import_model_layer()
        await serve(home, settings, listening, stop, on_ready=lambda ready: say(str(ready)))
    return stop.restarts


async def work_until_signalled(home: Home, settings: Settings, say: Callable[[str], None]) -> None:
    """The work without HTTP, for a database that many processes share."""
    require_enforced(settings)
    asyncio.get_running_loop().set_default_executor(started_pool(THREADS, "work"))
    raise_descriptor_limit()
    stop, clock = Stop(), home_clock(home)
    with stop.on_signals():
        _import_model_layer()
        async with open_host(home, settings, clock=clock) as host:
            registry = LiveTriggerRegistry(home)
            await registry.renew()
            services = BackgroundServices(home, host, settings, registry, clock)
            async with services.open():
                services.background.start("triggers", registry.run)
                services.background.start("log counts", _write_log_counts)
                stop.give_back = services.worker.give_back_all
                say(f"A worker for {home.root} is at work")
                await stop.asked.wait()
                await services.background.stop("triggers", "log counts")


def _import_model_layer() -> None:
    """Before anybody is answered: with the first run the loop would stand still for it."""
    import pydantic_ai.direct  # noqa: F401


async def _write_log_counts() -> None:
    while True:
        await asyncio.sleep(LAG_EVERY)
        write_log_summaries()
