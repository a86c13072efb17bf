"""What `colleague doctor` finds, asked for by a process that has this home open.

It is a process of its own: it starts the MCP servers to see whether they answer, and must not disturb those
that runs are using."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping

from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.settings_document import DoctorFinding

SECONDS = 120.0
_CURE = "type it in a terminal"


class DoctorFailed(ColleagueError):
    """colleague doctor gave no answer."""


async def run_doctor(home: Home, environ: Mapping[str, str]) -> list[DoctorFinding]:
    """Raises DoctorFailed."""
    command = (sys.executable, "-m", "colleague", "doctor", "--json", "--home", str(home.root))
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(
        *command, stdin=nothing, stdout=pipe, stderr=pipe, env=dict(environ)
    )
    try:
        async with asyncio.timeout(SECONDS):
            written, said = await child.communicate()
        found: list[DoctorFinding] = json.loads(written)
    except TimeoutError:
        raise DoctorFailed(f"colleague doctor gave no answer in {SECONDS:.0f} s", hint=_CURE) from None
    except ValueError:
        raise _failure(said) from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return found


def _failure(said: bytes) -> DoctorFailed:
    """What stopped it, from the line that it wrote about it."""
    try:
        error = json.loads(said)["error"]
        return DoctorFailed(error["message"], hint=error["hint"])
    except (ValueError, LookupError, TypeError):
        return DoctorFailed("colleague doctor gave no answer", hint=_CURE)
