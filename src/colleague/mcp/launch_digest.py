"""Fingerprints of a server's settings: what would be started or reached, and what a person accepted.

They are computed from the settings alone; no server is started for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from colleague.config.secret import Secret, resolve
from colleague.errors import ConfigError

if TYPE_CHECKING:
    from colleague.config.section import Section
    from colleague.config.settings import McpServer


def launch_digest(server: McpServer, environ: Mapping[str, str]) -> str:
    """What is started or reached. Approvals and grants carry it.

    Command, arguments, folder and URL count with their `${NAME}` filled in: another value is another server.
    Variables and headers count as they are written: `${NAME}` stays a name, so that a new key for the same
    server is no change."""
    found = {
        "transport": server.protocol,
        "command": _filled(server.command, environ),
        "args": [_filled(each, environ) for each in server.args],
        "cwd": _filled(server.cwd, environ),
        "url": _filled(server.url, environ),
        "env": _written(server.env),
        "headers": _written(server.headers),
        **_confined(server),
    }
    return _digest(found)


def entry_digest(server: McpServer) -> str:
    """The entry as the file has it. This is what a person accepts, on whichever machine.

    Besides the launch it covers `demo` and `toolFilter`, which decide what may be called."""
    found = (
        {
            "transport": server.protocol,
            "command": server.command,
            "args": list(server.args),
            "cwd": server.cwd,
            "url": server.url,
            "env": _written(server.env),
            "headers": _written(server.headers),
            "demo": server.demo,
            "include": sorted(server.tool_filter.include),
            "exclude": sorted(server.tool_filter.exclude),
            **_confined(server),
        }
        | _set("oauth", server.oauth)
        | _set("sampling", server.sampling)
    )
    return _digest(found)


def _confined(server: McpServer) -> dict[str, Any]:
    """Nothing for a server without a sandbox, so that it stays the one that was accepted."""
    return {} if server.sandbox is None else {"sandbox": server.sandbox.model_dump(mode="json")}


def _filled(text: str | None, environ: Mapping[str, str]) -> str | None:
    """As written when a variable is not set; nothing can be started then."""
    try:
        return text and resolve(text, environ)
    except ConfigError:
        return text


def _set(name: str, section: Section) -> dict[str, Any]:
    """Only what is set counts: a key that came with a later version changes no fingerprint."""
    found = section.model_dump(mode="json", exclude_defaults=True)
    return {name: found} if found else {}


def _written(values: Mapping[str, Secret]) -> dict[str, list[str]]:
    return {name: [value.raw, value.store] for name, value in values.items()}


def _digest(found: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
