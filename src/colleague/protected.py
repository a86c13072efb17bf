"""The folders and files of a home that no agent works in, and workspaces that would open them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from colleague.config import Settings
from colleague.errors import ConfigError
from colleague.home import Home

KEY = "agents.defaults.workspace"
_SCRIPTS = {".cjs", ".jar", ".js", ".mjs", ".php", ".pl", ".py", ".rb", ".sh", ".ts"}

FileId = tuple[int, int]
"""Device and inode: the same for every path that leads to a file or folder, bind mounts included."""


def protected_paths(home: Home, settings: Settings) -> tuple[Path, ...]:
    """The settings files with what they include, the variables, and the folders that decide what runs."""
    files = (home.settings_file, home.openclaw_file, home.env_file, *settings.files)
    return tuple(dict.fromkeys((*_folders(home), *files)))


def require_safe_workspace(home: Home, settings: Settings) -> None:
    """Raises ConfigError when an agent in this workspace could change what the home runs."""
    problem = workspace_problem(home, settings.workspace)
    if problem:
        raise ConfigError(problem, hint=f"set {KEY} to a folder of its own, such as {home.workspace}")


def workspace_problem(home: Home, workspace: Path) -> str:
    """Why nobody may work in this workspace; empty when all is well."""
    inner = os.path.realpath(workspace)
    real = {folder: os.path.realpath(folder) for folder in (home.root, *_folders(home))}
    identify = cache(file_id)  # most of the folders around are the same
    here, around = identify(inner), _ids(identify, inner)
    for folder in _folders(home):
        if identify(real[folder]) in around or _is_inside(inner, real[folder]):
            return f"{KEY} is {workspace}, which lies inside {folder}"
    for folder, place in real.items():
        if here in _ids(identify, place) or _is_inside(place, inner):
            return f"{KEY} is {workspace}, which contains {folder}"
    return ""


def file_id(path: Path | str) -> FileId | None:
    """None when there is nothing at the path."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked often, and a Path takes its time
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _folders(home: Home) -> tuple[Path, ...]:
    return home.experts, home.state, home.skills, home.logs


def _ids(identify: Callable[[str], FileId | None], path: str) -> set[FileId]:
    """Of a folder and of all around it."""
    around = ["/", *(path[:end] for end, sign in enumerate(path) if sign == "/" and end), path]
    return {found for found in map(identify, around) if found is not None}


def _is_inside(path: str, folder: str) -> bool:
    """By name, both without links, for what does not exist yet; a file system may take capitals for small
    letters."""
    inner, outer = path.casefold(), folder.casefold()
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def programs(settings: Settings) -> list[Path]:
    """The files that MCP servers are started from: whoever writes in one decides what runs."""
    found: list[Path] = []
    for server in settings.mcp.servers.values():
        base = Path(server.cwd).expanduser() if server.cwd else Path.cwd()
        parts = [base / Path(text).expanduser() for text in (server.command or "", *server.args) if text]
        found += [file for file in parts if file.is_file() and _is_program(file)]
    return found


def _is_program(file: Path) -> bool:
    return file.suffix.lower() in _SCRIPTS or os.access(file, os.X_OK)
