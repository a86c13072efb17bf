"""Containers that a dead process left behind."""

from __future__ import annotations

import asyncio
import logging
import subprocess
from collections.abc import Iterable

from colleague.agent.commands.running_commands import is_left
from colleague.sandbox.docker import Docker, left_containers, remove_container

log = logging.getLogger(__name__)


async def end_left_containers(backends: Iterable[Docker]) -> list[str]:
    """Removes those whose process on this machine has ended; what they did is not known."""
    gone = [name for each in backends for name in await asyncio.to_thread(_end, each)]
    if gone:
        log.warning("containers of before were removed: %s", ", ".join(gone))
    return gone


def _end(docker: Docker) -> list[str]:
    try:
        left = [name for name, owner in left_containers(docker).items() if is_left(owner)]
        for name in left:
            remove_container(docker, name)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("containers that were left behind could not be looked for: %s", error)
        return []
    return left
