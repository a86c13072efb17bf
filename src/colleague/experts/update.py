"""Moving an installed expert to a newer version of its package, or accepting the one in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from colleague.errors import PackageError, UsageError
from colleague.experts.accepted import accepted_package
from colleague.experts.expert import Expert, find_expert, require_valid
from colleague.experts.install import changing, settle, stage_package
from colleague.experts.registry import write_record
from colleague.failpoints import failpoint
from colleague.home import Home
from colleague.packages.compare import PackageChange, Step, changes, version_step
from colleague.packages.origin import is_untouched, origin_of
from colleague.packages.package import Package, read_package
from colleague.packages.snapshot import take_snapshot
from colleague.packages.source import Progress, Source, checked_ref, fetched
from colleague.packages.staging import put_in_place


@dataclass(frozen=True)
class Update:
    """Another version, fetched and compared with the accepted one, not yet in effect."""

    expert: Expert
    source: Source | None
    old: Package
    new: Package
    changes: tuple[PackageChange, ...]
    in_place: str
    """The digest of what lies in the expert's folder."""
    pinned: bool = False
    """Whether the source names a tag or a commit, so that nothing newer is looked for."""

    @property
    def step(self) -> Step:
        return version_step(self.old.manifest.version, self.new.manifest.version)

    @property
    def accepts_folder(self) -> bool:
        """Whether the new version is the folder as it is, so that nothing has to be put in place."""
        return self.new.root == self.expert.root

    @property
    def current(self) -> bool:
        return self.in_place == self.new.digest and not self.loosens and not self._to_accept

    @property
    def _to_accept(self) -> bool:
        return self.accepts_folder and self.old.digest != self.new.digest

    @property
    def modified(self) -> bool:
        """Whether someone changed the installed files, which an update would replace."""
        if self.expert.record.digest:
            known = self.expert.accepts(self.in_place)
        else:
            known = (self.expert.snapshots / self.in_place).exists()
        if known or self.in_place == self.new.digest:
            return False
        return bool(self.expert.record.digest) or not is_untouched(self.expert.folder, self.in_place)

    @property
    def loosens(self) -> tuple[PackageChange, ...]:
        return tuple(change for change in self.changes if change.loosens)

    @property
    def needs_force(self) -> str:
        """Why this update is not applied without --force; empty when it may be."""
        versions = f"{self.old.manifest.version} → {self.new.manifest.version}"
        if self.modified:
            return f"files in {self.expert.folder} were changed by hand, and the update replaces them"
        reasons: dict[Step, str] = {
            "major": f"{versions} is a major version, which may break what you rely on",
            "older": f"{versions} goes back to an older version",
            "unknown": f"{versions} cannot be compared, because a version is not SemVer",
        }
        return reasons.get(self.step, "")


@contextmanager
def prepared_update(
    home: Home, name: str, progress: Progress, *, accept_edits: bool = False, to: str = ""
) -> Iterator[Update]:
    """Fetches the source's current version; it stays at hand for as long as the block lasts.

    A linked folder is its own source. With `accept_edits` so is the folder in the home. `to` names another
    branch, tag or commit, which the expert follows from then on."""
    expert = find_expert(home, name)
    if to and (expert.linked or accept_edits or _source(expert).kind != "git"):
        raise UsageError(f"--to needs a git repository, and {name} does not come from one")
    if expert.linked or accept_edits:
        yield _update(expert, expert.record.source, require_valid(expert.read(), name))
        return
    source = replace(_source(expert), ref=checked_ref(to)) if to else _source(expert)
    with fetched(source, progress) as found:
        progress("Comparing versions")
        new = require_valid(read_package(found.folder), str(source))
        yield replace(_update(expert, source, new), pinned=found.pinned)


def _update(expert: Expert, source: Source | None, new: Package) -> Update:
    in_place = _in_place(expert)
    accepted = (expert.snapshots / expert.record.digest).is_dir() and expert.record.digest
    old = accepted_package(expert) if accepted else in_place
    return Update(expert, source, old, new, tuple(changes(old, new)), in_place.digest)


def apply_update(home: Home, workspace: Path, update: Update) -> None:
    """Puts the new version in place by one rename; what fails before it leaves the old one whole.

    A version already in place only gets what a crash may have kept from it: record, state, catalogue."""
    name = update.expert.name
    with changing(home):
        if _in_place(find_expert(home, name)).digest != update.in_place:
            raise PackageError(f"{name} was changed meanwhile", hint="run the update again")
        if update.in_place == update.new.digest:
            take_snapshot(update.new, home.snapshots)
        elif update.source is not None:
            stage = stage_package(home, update.new, update.source, update.expert.folder)
            failpoint("update.staged")
            put_in_place(stage, update.expert.folder)
        failpoint("update.placed")
        record = find_expert(home, name).record.with_accepted(update.new.manifest.version, update.new.digest)
        write_record(home, name, replace(record, source=update.source))
        failpoint("update.recorded")
        settle(home, workspace, name, update.new)


def _source(expert: Expert) -> Source:
    source = expert.record.source or origin_of(expert.folder)
    if source is None:
        raise PackageError(
            f"nobody knows where {expert.name} came from: it was copied in by hand",
            hint=f"remove it, then: colleague expert install SOURCE --name {expert.name}",
        )
    return source


def _in_place(expert: Expert) -> Package:
    """What lies in the expert's folder, also when it has errors."""
    reading = expert.read()
    if reading.package is None:
        return require_valid(reading, expert.name)
    return reading.package
