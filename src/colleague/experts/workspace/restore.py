"""What a person does with an expert's files: reading one, and putting an old version of it back."""

from __future__ import annotations

import contextlib
from typing import Any

from colleague.agent.main_agent import FILES_OWNER, main_tree
from colleague.agent.tool import UnknownEnd
from colleague.agent.tools.path import PathError
from colleague.agent.tools.tree import Content, Tree
from colleague.agent.tools.versioned import VersionedTree
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.experts.expert import find_expert
from colleague.experts.restrictions import ExpertRestrictions
from colleague.experts.workspace.expert_tree import expert_tree
from colleague.experts.workspace.file_history import find_file
from colleague.experts.workspace.workspace import Workspace
from colleague.home import Home
from colleague.main_names import MAIN_AGENT
from colleague.packages.folder import normal_path
from colleague.store.tx import Database


def files_owner(name: str) -> str:
    """Whose versions are meant: `main` is the main agent, since no expert can be called so."""
    return FILES_OWNER if name == MAIN_AGENT else name


def current_file(home: Home, settings: Settings, expert: str, file: str) -> Content | None:
    """A file as it is on disk, named as for `find_file`; None when there is none."""
    tree, path = _tree(home, settings, expert), normal_path(file) or file
    for each in (path, f"state/{path}"):
        with contextlib.suppress(PathError):
            return tree.read(each)
    return None


async def restore_file(
    home: Home, settings: Settings, database: Database, expert: str, file: str, version: int
) -> dict[str, Any]:
    """The path, and the number of the new version; None when the file has that text already."""
    owner, tree = files_owner(expert), _tree(home, settings, expert)
    key = await database.read(lambda tx: find_file(tx, owner, file))
    files = VersionedTree(tree, database, owner, home.state / "file-locks")
    try:
        written = await files.restore(key.path, version)
    except UnknownEnd as error:
        raise ColleagueError(
            f"it is not certain that {file} was restored ({error})", hint="run the command again"
        ) from error
    return {"path": written.path, "version": written.version.number if written.version else None}


def _tree(home: Home, settings: Settings, expert: str) -> Tree:
    """The expert's tree. A package that is broken at the moment does not stand in the way."""
    if expert == MAIN_AGENT:
        return main_tree(home, settings, ExpertRestrictions(home, settings))
    root = find_expert(home, expert).root
    return expert_tree(root, Workspace.of(settings.workspace, expert), private=())
