"""The working files of an expert's processes: what they are called, and when they are removed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from colleague.agent.tools.folder import OpenFolder, open_real
from colleague.agent.tools.path import PathError, join, split
from colleague.experts.workspace.file_name import file_name_part
from colleague.experts.workspace.workspace import Workspace
from colleague.packages.folder import normal_path
from colleague.packages.process import Process

log = logging.getLogger(__name__)

Keep = Callable[[str], bool]

SCRATCH = "scratch"

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_MOST_BYTES = 200
_MOST_KEPT = 40


def scratchpad_path(process: Process, inputs: Mapping[str, Any]) -> str | None:
    """The path of a process's scratchpad for these inputs; None when it has none or an input is missing.

    Whatever an input holds, it is a part of one name, and other inputs lead to another file."""
    literals, names = _pattern(process)
    if not literals[0].startswith(f"{SCRATCH}/") or any(inputs.get(name) in (None, "") for name in names):
        return None
    texts = [_text(inputs[name]) for name in names]
    parts = [file_name_part(text) for text in texts]
    *folders, name = "".join(map("".join, zip(literals, [*parts, ""], strict=True))).split("/")
    if _is_ambiguous(literals[1:-1], parts):
        name = _with_digest(name, texts)
    long = (
        _with_digest(each, texts) if len(each.encode()) > _MOST_BYTES else each for each in (*folders, name)
    )
    return "/".join(long)


def remove_scratch(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Removes plain files below scratch/ and the folders they leave empty; returns what was removed.

    A path that leads elsewhere, through a link or to nothing changes nothing."""
    return [path for path in paths if _removed(workspace, path)]


def forget_scratch(workspace: Workspace, older_than_ms: int, now_ms: int, keep: Keep) -> list[str]:
    """Removes scratch files and session folders that nobody wrote to for so long; returns their paths.

    `keep` is asked for each, as `scratch/triage-1.md` or `sessions/<run id>`, and spares what is in use."""
    limit = now_ms - older_than_ms
    removed: list[str] = []
    for top, forget in ((workspace.scratch, _forget_files), (workspace.sessions, _forget_sessions)):
        try:
            folder = open_real(top, top.name, create=False)
        except PathError as error:
            log.warning("%s", error.message)
            continue
        if folder is not None:
            with contextlib.closing(folder):
                removed += forget(folder, limit, keep)
    return removed


def _pattern(process: Process) -> tuple[list[str], list[str]]:
    """The text around the placeholders, and their names."""
    parts = _PLACEHOLDER.split(normal_path(process.scratchpad) or "")
    return parts[::2], parts[1::2]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _is_ambiguous(between: list[str], parts: list[str]) -> bool:
    """Whether the same name could be made of other parts: `a-b` and `c` as of `a` and `b-c`."""
    used = set("".join(parts))
    return any(not literal or used & set(literal) for literal in between)


def _with_digest(name: str, texts: list[str]) -> str:
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - text only
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]
    return f"{stem[:_MOST_KEPT]}~~{digest}{ending if len(ending) < _MOST_KEPT else ''}"


def _removed(workspace: Workspace, path: str) -> bool:
    try:
        top, *names = split(path) or ("",)
        folder = open_real(workspace.scratch, SCRATCH, create=False) if top == SCRATCH and names else None
        if folder is None:
            return False
        with contextlib.closing(folder):
            return _remove_in(folder, names)
    except PathError:
        return False


def _remove_in(folder: OpenFolder, names: list[str]) -> bool:
    name = folder.required(names[0])
    if len(names) == 1:
        entry = folder.entry(name)
        return entry is not None and entry.kind == "file" and _unlink(folder, name)
    with contextlib.closing(folder.open_folder(name)) as inner:
        removed = _remove_in(inner, names[1:])
    if removed:
        _remove_if_empty(folder, name)
    return removed


def _unlink(folder: OpenFolder, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder.descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        log.warning("%s cannot be removed: %s", join(folder.path, name), error.strerror)
        return False
    return True


def _remove_if_empty(folder: OpenFolder, name: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=folder.descriptor)


def _forget_files(folder: OpenFolder, limit: int, keep: Keep) -> list[str]:
    removed: list[str] = []
    for name in sorted(folder.names()):
        with contextlib.suppress(FileNotFoundError, PathError):
            status, path = folder.status(name), join(folder.path, name)
            if stat.S_ISDIR(status.st_mode):
                removed += _forget_in(folder, name, limit, keep)
            elif stat.S_ISREG(status.st_mode) and _written_ms(status) < limit and not keep(path):
                removed += [path] if _unlink(folder, name) else []
    return removed


def _forget_in(folder: OpenFolder, name: str, limit: int, keep: Keep) -> list[str]:
    with contextlib.closing(folder.open_folder(name)) as inner:
        removed = _forget_files(inner, limit, keep)
    if removed:
        _remove_if_empty(folder, name)
    return removed


def _forget_sessions(folder: OpenFolder, limit: int, keep: Keep) -> list[str]:
    removed: list[str] = []
    for entry in folder.entries():
        if entry.kind != "folder" or _newest_ms(folder, entry.name) >= limit or keep(entry.path):
            continue
        try:
            shutil.rmtree(entry.name, dir_fd=folder.descriptor)
            removed.append(entry.path)
        except OSError as error:
            log.warning("%s cannot be removed: %s", entry.path, error.strerror)
    return removed


def _newest_ms(folder: OpenFolder, name: str) -> int:
    """When something below a folder was written last."""
    newest = 0
    for _, _, files, descriptor in os.fwalk(name, dir_fd=folder.descriptor):
        found = [os.fstat(descriptor)]
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                found.append(os.stat(file, dir_fd=descriptor, follow_symlinks=False))
        newest = max(newest, *map(_written_ms, found))
    return newest


def _written_ms(status: os.stat_result) -> int:
    return status.st_mtime_ns // 1_000_000
