"""The two implementations of the service, on a home that a test has written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from colleague.config import load_settings
from colleague.errors import ColleagueError
from colleague.run_document import RunDocument
from colleague.run_event import RunEvent
from colleague.runtime.host import open_host
from colleague.runtime.local_service import LocalService
from colleague.runtime.remote_service import RemoteService
from colleague.runtime.requests import RunRequest
from colleague.runtime.service import Service
from colleague.triggers.registry import TriggerRegistry
from tests.integration.gateway.harness import House

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """Opens the service of a house: on its database in this process, or through a gateway."""

    house: House
    remote: bool

    def run(self, work: Callable[[Service], Awaitable[T]]) -> T:
        async def local() -> T:
            async with self._local() as service:
                return await work(service)

        async def remote() -> T:
            return await work(RemoteService(self.house.home, self.house.environ))

        if not self.remote:
            return asyncio.run(local())
        with self.house.open():
            return asyncio.run(remote())

    @asynccontextmanager
    async def _local(self) -> AsyncIterator[LocalService]:
        home, settings = self.house.home, load_settings(self.house.home)
        async with open_host(home, settings, self.house.environ) as host:
            registry = TriggerRegistry(home)
            yield LocalService(home, settings, host.database, registry, host=host, environ=self.house.environ)


async def followed(service: Service, run_id: str) -> list[RunEvent]:
    return [event async for event in service.follow([run_id])]


async def rested(service: Service, asked: RunRequest) -> RunDocument:
    """The run that comes of it, once only a person can move it."""
    accepted = await service.start(asked)
    assert accepted.run_id is not None
    await followed(service, accepted.run_id)
    return await service.run(accepted.run_id)


async def refusal(work: Awaitable[object]) -> tuple[int, str, str]:
    """How something is refused: exit code, sentence, hint."""
    try:
        await work
    except ColleagueError as error:
        return error.exit_code, error.message, error.hint
    raise AssertionError("it was not refused")
