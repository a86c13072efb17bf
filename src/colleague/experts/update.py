"""Moving an installed expert to a newer version of its package, in the open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from colleague.errors import PackageError
from colleague.experts.expert import Expert, find_expert, require_valid
from colleague.experts.install import changing, settle, stage_package
from colleague.experts.registry import write_record
from colleague.failpoints import failpoint
from colleague.home import Home
from colleague.packages.compare import Change, Step, changes, version_step
from colleague.packages.package import Package, read_package
from colleague.packages.source import Progress, Source, fetched, origin_of
from colleague.packages.staging import put_in_place


@dataclass(frozen=True)
class Update:
    """A newer version, fetched and compared, not yet in effect."""

    expert: Expert
    source: Source
    old: Package
    new: Package
    changes: tuple[Change, ...]
    modified: bool
    """Whether someone changed the installed files, which an update would replace."""

    @property
    def step(self) -> Step:
        return version_step(self.old.manifest.version, self.new.manifest.version)

    @property
    def current(self) -> bool:
        return self.old.digest == self.new.digest

    @property
    def loosens(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.loosens)

    @property
    def needs_force(self) -> str:
        """Why this update is not applied without --force; empty when it may be."""
        versions = f"{self.old.manifest.version} → {self.new.manifest.version}"
        if self.modified and not self.current:
            return f"files in {self.expert.folder} were changed by hand, and the update replaces them"
        reasons: dict[Step, str] = {
            "major": f"{versions} is a major version, which may break what you rely on",
            "older": f"{versions} goes back to an older version",
            "unknown": f"{versions} cannot be compared, because a version is not SemVer",
        }
        return reasons.get(self.step, "")


@contextmanager
def prepared_update(home: Home, name: str, progress: Progress) -> Iterator[Update]:
    """Fetches the source's current version; it stays at hand for as long as the block lasts."""
    expert = find_expert(home, name)
    source = _source(expert)
    with fetched(source, progress) as folder:
        progress("Comparing versions")
        old = _installed(expert, home)
        new = require_valid(read_package(folder), str(source))
        modified = not expert.linked and not (home.snapshots / old.digest).exists()
        yield Update(expert, source, old, new, tuple(changes(old, new)), modified)


def apply_update(home: Home, workspace: Path, update: Update) -> None:
    """Puts the new version in place by one rename; what fails before it leaves the old one whole.

    A version already in place only gets what a crash may have kept from it: record, state, catalogue."""
    name = update.expert.name
    with changing(home):
        if _installed(find_expert(home, name), home).digest != update.old.digest:
            raise PackageError(f"{name} was changed meanwhile", hint="run the update again")
        if not update.current:
            stage = stage_package(home, update.new, update.source, update.expert.folder)
            failpoint("update.staged")
            put_in_place(stage, update.expert.folder)
        failpoint("update.placed")
        record = replace(
            find_expert(home, name).record,
            source=update.source,
            version=update.new.manifest.version,
            digest=update.new.digest,
        )
        write_record(home, name, record)
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


def _installed(expert: Expert, home: Home) -> Package:
    """The version in effect. A link is compared with the snapshot that was last accepted."""
    snapshot = home.snapshots / expert.record.digest
    if expert.linked and expert.record.digest and snapshot.exists():
        return require_valid(read_package(snapshot), expert.name)
    reading = expert.read()
    if reading.package is None:
        return require_valid(reading, expert.name)
    return reading.package
