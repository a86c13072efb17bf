"""A plugin whose channel hands results to the world, at KILL_URL."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any


def _post(text: str) -> None:
    body = json.dumps({"text": text}).encode()
    urllib.request.urlopen(f"{os.environ['KILL_URL']}/delivered", body, 60).close()  # noqa: S310 - the benchmark's own


class WorldChannel:
    """Results whose package names slack come here."""

    name = "slack"
    capabilities = frozenset(["send"])

    async def act(self, _: str, what: Any) -> str:
        await asyncio.to_thread(_post, what.text)
        return str(what.key)

    async def read(self, *_: Any) -> list[Any]:
        return []


def register(api: Any) -> None:
    api.add_channel(WorldChannel())
