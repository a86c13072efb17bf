"""A gateway on loopback: the real server in a thread of its own, on a home that the test has written."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml

from colleague.clock import Clock
from colleague.config import load_settings
from colleague.experts.install import install_expert
from colleague.experts.registry import set_enabled
from colleague.gateway.limits import Limits
from colleague.gateway.listening import Listening
from colleague.gateway.serve import StartNotice, Stop, serve
from colleague.home import Home
from colleague.packages.source import Source
from tests.integration.experts.package import CLERK, Package, process, text
from tests.integration.store.databases import place_sqlite

TOKEN = "gateway-token-for-tests"  # noqa: S105
HOOK_TOKEN = "hook-token-for-tests"  # noqa: S105
SECRET = "a-secret-of-one-hook"  # noqa: S105
ENVIRON = {"GATEWAY_TOKEN": TOKEN, "HOOK_TOKEN": HOOK_TOKEN, "ORDER_SECRET": SECRET, "PATH": "/usr/bin:/bin"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HOOK_BEARER = {"Authorization": f"Bearer {HOOK_TOKEN}"}
LEAP_NIGHT = "0 3 29 2 *"
"""A schedule that comes in the middle of no test."""

TRIGGERS: list[dict[str, Any]] = [
    {"name": "order", "type": "webhook", "process": "work", "dedupe_key": "id", "concurrency": "parallel"},
    {"name": "signed", "type": "webhook", "process": "work", "concurrency": "parallel"},
    {"name": "in_turn", "type": "webhook", "process": "work", "concurrency": "serial"},
    {
        "name": "by_customer",
        "type": "webhook",
        "process": "work",
        "concurrency": "serial_per_key",
        "concurrency_key": "customer",
    },
    {"name": "mail", "type": "webhook", "preset": "gmail", "process": "work", "dedupe_key": "message_id"},
    {"name": "told", "type": "channel", "process": "work"},
    {"name": "nightly", "type": "cron", "expr": LEAP_NIGHT, "process": "work"},
]
BINDINGS: dict[str, Any] = {
    "triggers": {
        "signed": {"secret": ["${ORDER_SECRET}"], "signature": "hmac-sha256"},
        "in_turn": {"max_queued": 2},
        "told": {"channel": "sales-*", "pattern": "(?i)help"},
    },
    "model": "script/play.yaml",
}


def package(name: str = CLERK, triggers: list[dict[str, Any]] | None = None) -> Package:
    work = process(steps=(), inputs=[text("id", required=False), text("note", required=False)])
    wanted = TRIGGERS if triggers is None else triggers
    return Package(files={"processes/work.md": work}, manifest={"triggers": wanted}, name=name)


@dataclass
class Running:
    """A gateway that answers, and what a caller needs to talk to it."""

    home: Home
    url: str
    ready: StartNotice
    stop: Callable[[], object]
    client: httpx2.Client
    loop: asyncio.AbstractEventLoop

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.client.get(path, headers=BEARER | more.pop("headers", {}), **more)

    def post(self, path: str, document: Any = None, **more: Any) -> httpx2.Response:
        return self.client.post(path, json=document, headers=BEARER | more.pop("headers", {}), **more)

    def hook(self, path: str, document: Any, **headers: str) -> httpx2.Response:
        return self.client.post(f"/hooks/{path}", json=document, headers=HOOK_BEARER | headers)

    def ended(self, run_id: str) -> dict[str, Any]:
        """The run, once it has come to its end."""
        found: dict[str, Any] = self.until(lambda: self._done(run_id))
        return found

    def _done(self, run_id: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.get(f"/api/runs/{run_id}").json()
        return found if found["status"] == "done" else None

    def until(self, look: Callable[[], Any], seconds: float = 240.0) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.05)
        raise AssertionError("it never came")


@dataclass
class House:
    """A home with a clerk in it who says what a script says."""

    root: Path
    settings: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=lambda: dict(ENVIRON))

    @property
    def home(self) -> Home:
        return Home(self.root)

    def furnish(self) -> House:
        place_sqlite(self.home.database_file)
        auth = {"mode": "token", "token": "${GATEWAY_TOKEN}"}
        self.configure(gateway={"auth": auth}, hooks={"token": "${HOOK_TOKEN}"})
        self.play({"text": "It is done."})
        self.install(package())
        return self

    def configure(self, **settings: Any) -> None:
        self.settings |= settings
        written = self.root / "settings.new"  # renamed, so that a gateway never reads half of it
        written.write_text(json.dumps(self.settings))
        written.chmod(0o600)
        written.replace(self.home.settings_file)

    def play(self, *replies: dict[str, Any]) -> None:
        (self.root / "play.yaml").write_text(json.dumps({"replies": list(replies)}))

    def install(self, given: Package, bindings: dict[str, Any] | None = None, *, enable: bool = True) -> None:
        folder = given.write(self.root / "source" / given.name)
        workspace = load_settings(self.home).workspace
        install_expert(self.home, workspace, Source("folder", str(folder)), name=given.name, progress=_silent)
        self.bind(BINDINGS if bindings is None else bindings, given.name)
        set_enabled(self.home, given.name, enable)

    def bind(self, bindings: dict[str, Any], expert: str = CLERK) -> None:
        (self.home.expert(expert) / "bindings.yaml").write_text(yaml.safe_dump(bindings))

    @contextmanager
    def open(
        self, limits: Limits | None = None, bind: str | None = None, clock: Clock | None = None
    ) -> Iterator[Running]:
        """Serves until the block is left; then stops gently and raises what the server raised."""
        settings = load_settings(self.home)
        listening = Listening.of(settings, bind=bind, port=0)
        told: list[StartNotice] = []
        failures: list[BaseException] = []
        up, stops, loops = threading.Event(), [], []

        def on_ready(ready: StartNotice) -> None:
            told.append(ready)
            up.set()

        async def go() -> None:
            stop, loop = Stop(at_once=lambda: None), asyncio.get_running_loop()
            stops.append(lambda: loop.call_soon_threadsafe(stop))
            loops.append(loop)
            await serve(
                self.home,
                settings,
                listening,
                stop,
                on_ready=on_ready,
                environ=self.environ,
                clock=clock,
                limits=limits or Limits(drain_seconds=2.0),
            )

        def work() -> None:
            try:
                asyncio.run(go())
            except BaseException as error:  # noqa: BLE001 - handed to the test
                failures.append(error)
            finally:
                up.set()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert up.wait(60)
        if failures:
            raise failures[0]
        try:
            with httpx2.Client(base_url=told[0].url, timeout=120) as client:
                yield Running(self.home, told[0].url, told[0], stops[0], client, loops[0])
        finally:
            if thread.is_alive():
                stops[0]()
            thread.join(120)
        if failures:
            raise failures[0]
        assert not thread.is_alive()


def _silent(_: str) -> None:
    pass
