"""A model provider in a thread of its own, for commands that run in processes of their own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.conftest import Colleague
from tests.integration.models import openai_wire as wire
from tests.integration.models.server import Page, Stream, WireServer

KEY = "sk-secret-0123456789abcdef"
OVERLOADED = Page(500, wire.error("Overloaded, come back later"))
HELLO = Stream(wire.said("Good morning."))
NEVER = Stream([], end="stall")


@dataclass
class Provider:
    """Speaks OpenAI's wire format. `answers` can be changed while it serves."""

    wire: WireServer

    def answer(self, *answers: Page | Stream) -> None:
        """From the next request on."""
        self.wire.answers = [*[HELLO] * len(self.wire.requests), *answers]

    @property
    def requests(self) -> int:
        return len(self.wire.requests)


@contextmanager
def providing(*answers: Page | Stream) -> Iterator[Provider]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    served = WireServer(answers)
    server = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(served.serve, "127.0.0.1", 0), loop
    ).result()
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield Provider(served)
    finally:
        loop.call_soon_threadsafe(server.close)
        asyncio.run_coroutine_threadsafe(served.hang_up(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(120)
        loop.close()


def use(colleague: Colleague, provider: Provider, **more: object) -> None:
    """The home's settings with this provider's model as the default one."""
    settings = {
        "agents": {"defaults": {"model": {"primary": "local/m1"}}},
        "models": {"providers": {"local": _entry(provider, [{"id": "m1"}])}},
    }
    colleague.home.mkdir(parents=True, exist_ok=True)
    (colleague.home / "colleague.json").write_text(json.dumps(settings | more))


def _entry(provider: Provider, models: Sequence[object]) -> dict[str, object]:
    url = f"{provider.wire.url}/v1"
    return {"baseUrl": url, "apiKey": KEY, "api": "openai-completions", "models": models}
