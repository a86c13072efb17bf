"""What a person has accepted of an expert. What loosens its package counts only after that."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import PackageError
from colleague.experts.expert import Expert, require_valid

if TYPE_CHECKING:
    from colleague.packages.compare import PackageChange
    from colleague.packages.package import Package

_MOST_KEPT = 64


def as_accepted(expert: Expert, package: Package) -> Package:
    """A version of the expert's package with no more rights than a person has accepted."""
    from colleague.packages.limit import limited

    return package if expert.accepts(package.digest) else limited(package, accepted_package(expert))


def run_package(expert: Expert, package: Package, created_at: int) -> Package:
    """The same for a run that began then: it keeps the rights of a version that was accepted at that time."""
    return package if expert.record.accepts_run(package.digest, created_at) else as_accepted(expert, package)


def accepted_package(expert: Expert) -> Package:
    """The version that was accepted last. Raises PackageError when there is none."""
    folder = expert.snapshots / expert.record.digest
    if not expert.record.digest or not folder.is_dir():
        raise PackageError(
            f"nobody has accepted what {expert.name} is in {expert.root}", hint=accept_command(expert)
        )
    return _read(folder, expert.name)


def not_accepted(expert: Expert, package: Package) -> tuple[PackageChange, ...]:
    """What of a version loosens the accepted one, and so does not count yet."""
    from colleague.packages.compare import changes

    if expert.accepts(package.digest):
        return ()
    return tuple(each for each in changes(accepted_package(expert), package) if each.loosens)


def accept_command(expert: Expert) -> str:
    """What a person types to accept a version as it lies in its folder."""
    return f"colleague expert update {expert.name}{'' if expert.linked else ' --accept-edits'}"


def not_accepted_notice(expert: Expert, package: Package) -> str:
    """One sentence about what does not count yet; empty when everything does."""
    withheld = not_accepted(expert, package)
    if not withheld:
        return ""
    more = f" (and {len(withheld) - 1} more)" if len(withheld) > 1 else ""
    return f"{expert.root} loosens what was accepted, which does not count yet: {withheld[0].what}{more}"


@lru_cache(maxsize=_MOST_KEPT)
def _read(snapshot: Path, name: str) -> Package:
    from colleague.packages.package import read_package

    return require_valid(read_package(snapshot), name)
