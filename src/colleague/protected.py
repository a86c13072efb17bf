"""The folders and files of a home that no agent works in, and workspaces that would open them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from colleague.config import Settings
from colleague.errors import ConfigError
from colleague.home import Home

KEY = "agents.defaults.workspace"
_SCRIPTS = {".cjs", ".jar", ".js", ".mjs", ".php", ".pl", ".py", ".rb", ".sh", ".ts"}

FileId = tuple[int, int]
"""Device and inode: the same for every path that leads to a file or folder, bind mounts included."""


def protected_paths(home: Home, settings: Settings) -> tuple[Path, ...]:
    """The settings files with what they include, and the folders that decide what runs."""
    files = (home.settings_file, home.openclaw_file, *settings.files)
    return tuple(dict.fromkeys((*_folders(home), *files)))


def require_safe_workspace(home: Home, settings: Settings) -> None:
    """Raises ConfigError when an agent in this workspace could change what the home runs."""
    problem = workspace_problem(home, settings.workspace)
    if problem:
        raise ConfigError(problem, hint=f"set {KEY} to a folder of its own, such as {home.workspace}")


def workspace_problem(home: Home, workspace: Path) -> str:
    """Why nobody may work in this workspace; empty when all is well."""
    here = file_id(workspace)
    around = _ids([workspace.resolve(), *workspace.resolve().parents])
    for folder in _folders(home):
        if file_id(folder) in around or _is_inside(workspace, folder):
            return f"{KEY} is {workspace}, which lies inside {folder}"
    for folder in (home.root, *_folders(home)):
        if here in _ids([folder.resolve(), *folder.resolve().parents]) or _is_inside(folder, workspace):
            return f"{KEY} is {workspace}, which contains {folder}"
    return ""


def file_id(path: Path) -> FileId | None:
    """None when there is nothing at the path."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _folders(home: Home) -> tuple[Path, ...]:
    return home.experts, home.state, home.skills, home.logs


def _ids(paths: Iterable[Path]) -> set[FileId]:
    return {found for found in map(file_id, paths) if found is not None}


def _is_inside(path: Path, folder: Path) -> bool:
    """By name, for what does not exist yet; a file system may take capitals for small letters."""
    inner, outer = (os.path.realpath(each).casefold() for each in (path, folder))
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
