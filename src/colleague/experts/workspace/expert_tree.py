"""The one tree that an expert sees: its workspace, and the package that its run is pinned to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from colleague.agent.tools.fence import Fence
from colleague.agent.tools.tree import Root, Tree
from colleague.experts.workspace.workspace import Workspace
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder, normal_path
from colleague.packages.manifest import LISTS, read_manifest
from colleague.skills.index import SOURCE
from colleague.skills.skill import Skill

PACKAGED = ("functions", "processes", "knowledge", "persona")


def expert_tree(
    package_root: Path,
    workspace: Workspace,
    *,
    private: Collection[str],
    session_files: Mapping[str, Path] | None = None,
    fence: Fence | None = None,
    skills: Sequence[Skill] = (),
) -> Tree:
    """State and scratch can be written. Learnings cannot: they are approved first. The package is read only.

    `private` are the paths of private knowledge, which are hidden; `session_files` those of state files
    that this session has for itself; `skills` those that its tools are bound to, to read."""
    packaged, state = _folders(package_root)
    roots = {name: Root(package_root / name, trusted=True) for name in packaged}
    roots |= {name: Root(workspace.root / name, writable=True) for name in state}
    roots["learnings"] = Root(workspace.learnings)
    roots |= {each.path: Root(each.folder, label=SOURCE) for each in skills}
    return Tree(
        roots,
        hidden=[path for path in map(normal_path, private) if path],
        mounts={path: file for path, file in (session_files or {}).items() if _top(path) in roots},
        fence=fence,
    )


def _folders(package_root: Path) -> tuple[set[str], set[str]]:
    """The folders that components of the package lie in, and those that its state files do.

    A manifest that cannot be read leaves the folders that every package has."""
    manifest = read_manifest(PackageFolder(package_root, Findings()))
    lists = manifest.components.lists if manifest else {}
    tops = {name: {_top(normal_path(path) or "") for path, _ in lists.get(name, [])} for name in LISTS}
    state = tops.pop("state") - {""}
    ours = {"state", "scratch", "learnings"}
    packaged = set(PACKAGED).union(*tops.values()) - {""} - ours
    return packaged, (state - packaged - ours) | {"state", "scratch"}


def _top(path: str) -> str:
    """The top folder of a path; nothing for a file that is in none."""
    folder, slash, _ = path.partition("/")
    return folder if slash else ""
