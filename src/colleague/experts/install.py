"""Bringing a package into the home, and taking it out again. Each is one rename."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colleague.errors import PackageError, UsageError
from colleague.experts.expert import Expert, discover, find_expert, require_valid
from colleague.experts.experts_md import write_catalogue
from colleague.experts.registry import Record, set_enabled, write_record
from colleague.experts.workspace.workspace import Workspace, initialise_state
from colleague.failpoints import failpoint
from colleague.files import write_atomic
from colleague.home import Home
from colleague.packages.manifest import folder_name
from colleague.packages.names import BINDINGS, LINK
from colleague.packages.package import Package, read_package
from colleague.packages.reserved import name_problem
from colleague.packages.snapshot import copy_package, take_snapshot
from colleague.packages.source import Progress, Source, fetched
from colleague.packages.staging import new_stage, put_in_place, sweep, take_away

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,56}")


@contextmanager
def changing(home: Home) -> Iterator[None]:
    """The lock for whatever changes the experts, with what a crash left behind swept first."""
    with home.changing_experts():
        sweep(home.experts)
        sweep(home.snapshots)
        yield


@contextmanager
def changing_expert(home: Home, workspace: Path, name: str) -> Iterator[Expert]:
    """One installed expert, for a change to it that others learn of through the catalogue."""
    with changing(home):
        yield find_expert(home, name)
        write_catalogue(home, workspace)


def install_expert(
    home: Home, workspace: Path, source: Source, *, name: str, progress: Progress, digest: str = ""
) -> Expert:
    """Fetches, validates and installs a package; its triggers are off until it is enabled.

    `digest` is of the package that a person looked at; another one is refused."""
    with fetched(source, progress) as found:
        progress("Checking the package")
        package = require_valid(read_package(found.folder), str(source))
        require_seen(package, digest)
        chosen = checked_name(name or folder_name(package.name))
        with changing(home):
            _refuse_double(home, chosen)
            stage = stage_package(home, package, source, home.expert(chosen))
            failpoint("install.staged")
            record = Record(source=source, version=package.manifest.version, digest=package.digest)
            write_record(home, chosen, record)
            failpoint("install.recorded")
            put_in_place(stage, home.expert(chosen))
            failpoint("install.placed")
            settle(home, workspace, chosen, package)
    return find_expert(home, chosen)


def require_seen(package: Package, digest: str) -> None:
    """Raises PackageError when a person looked at other files than these."""
    if digest and package.digest != digest:
        raise PackageError(f"{package.name} is not what you looked at any more", hint="look at it again")


def checked_name(name: str) -> str:
    if problem := name_problem(name):
        raise UsageError(problem, hint="choose another name; a package is installed under it with --name")
    if not _NAME.fullmatch(name):
        hint = "use small letters, digits, dots and dashes, at most 57 of them"
        raise UsageError(f"{name!r} cannot be the name of an expert", hint=hint)
    return name


def _refuse_double(home: Home, name: str) -> None:
    if any(expert.name == name for expert in discover(home)):
        raise PackageError(
            f"an expert named {name!r} is already installed",
            hint=f"colleague expert update {name}, or install under another name with --name",
        )
    target = home.expert(name)
    others = [path.name for path in target.iterdir() if path.name != BINDINGS] if target.is_dir() else []
    if others or target.is_file():
        raise PackageError(f"{target} is in the way", hint="move it elsewhere, then install again")


def stage_package(home: Home, package: Package, source: Source, current: Path) -> Path:
    """A complete folder ready to be put in place: package or pointer, with the user's bindings."""
    take_snapshot(package, home.snapshots)
    stage = new_stage(home.experts)
    if source.kind == "link":
        write_atomic(stage / LINK, json.dumps({"path": source.location}) + "\n")
    else:
        copy_package(package, stage)
    if (current / BINDINGS).exists():
        shutil.copy2(current / BINDINGS, stage / BINDINGS)
    return stage


def settle(home: Home, workspace: Path, name: str, package: Package) -> None:
    """What follows from a folder being in place. Every part can be done again."""
    initialise_state(package, Workspace.of(workspace, name))
    failpoint("install.state")
    write_catalogue(home, workspace)


def remove_expert(home: Home, workspace: Path, name: str, *, purge: bool) -> None:
    """Takes an expert out. Its state and bindings stay, and a reinstall finds them, unless purged."""
    with changing(home):
        expert = find_expert(home, name)
        set_enabled(home, name, False)
        failpoint("remove.disabled")
        if expert.bindings_file.exists() and not purge:
            stage = new_stage(home.experts)
            shutil.copy2(expert.bindings_file, stage / BINDINGS)
            failpoint("remove.staged")
            put_in_place(stage, expert.folder)
        else:
            take_away(expert.folder, home.experts)
        failpoint("remove.placed")
        state = Workspace.of(workspace, name).root
        if purge and state.exists():
            take_away(state, state.parent)
        write_record(home, name, None)
        failpoint("remove.forgotten")
        write_catalogue(home, workspace)
