"""What a model may have meant by a path that does not exist."""

from __future__ import annotations

from colleague.agent.tools.path import MissingPath, PathError, escaped, join
from colleague.agent.tools.tree import Tree
from colleague.suggest import close_names

_MOST = 3
_MOST_LISTED = 12


def explain(tree: Tree, missing: MissingPath) -> str:
    """The error, with the names that are nearest, or with what there is instead."""
    found = _spelled_alike(tree, missing) or _elsewhere(tree, missing.path)
    if found:
        return f"{missing.message} Did you mean {' or '.join(escaped(path) for path in found)}?"
    return f"{missing.message} {_instead(tree, missing.folder)}"


def _names(tree: Tree, folder: str) -> list[str]:
    try:
        entries = tree.entries(folder)
    except (PathError, OSError):
        return []
    return [entry.name + "/" * (entry.kind == "folder") for entry in entries]


def _spelled_alike(tree: Tree, missing: MissingPath) -> list[str]:
    names = {name.rstrip("/").casefold(): name for name in _names(tree, missing.folder)}
    close = close_names(missing.name.casefold(), names, most=_MOST, cutoff=0.7)
    return [join(missing.folder, names[each]) for each in close]


def _elsewhere(tree: Tree, path: str) -> list[str]:
    """Files of the same name in other folders."""
    name = path.rpartition("/")[2].casefold()
    entries = tree.walk("").entries
    return [each.path for each in entries if each.kind == "file" and each.name.casefold() == name][:_MOST]


def _instead(tree: Tree, folder: str) -> str:
    names = _names(tree, folder)
    where = f"{escaped(folder)}/" if folder else "The top folder"
    if not names:
        return f"{where} is empty."
    listed = ", ".join(map(escaped, names[:_MOST_LISTED]))
    return f"{where} has {listed}{' and more' if len(names) > _MOST_LISTED else ''}."
