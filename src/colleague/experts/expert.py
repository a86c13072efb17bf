"""An installed expert: its folder in the home, wherever its package lies."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colleague.errors import NotFound, PackageError
from colleague.experts.registry import Record, read_records
from colleague.files import is_there
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.manifest import Manifest, read_manifest
from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS, LINK, MANIFEST
from colleague.packages.reserved import name_problem
from colleague.packages.staging import needs_recovery, sweep
from colleague.shortage import raise_shortage
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from colleague.packages.package import Package, Reading

POINTER_HINT = 'it should read {"path": "/path/to/package"}; remove the expert and link it again'


@dataclass(frozen=True)
class Expert:
    """`folder` is in the home and holds the bindings; `root` has the package (elsewhere when linked).

    `snapshots` holds a copy of the version that a person accepted, `fault` says why nobody knows where the
    package is: `root` leads nowhere then."""

    name: str
    folder: Path
    root: Path
    record: Record
    snapshots: Path
    fault: str = ""

    @property
    def linked(self) -> bool:
        return self.root != self.folder

    @property
    def bindings_file(self) -> Path:
        return self.folder / BINDINGS

    @property
    def label(self) -> str:
        return f"expert:{self.name}"

    def read(self) -> Reading:
        from colleague.packages.package import Reading, read_package

        if self.fault:
            findings = Findings()
            findings.add("pointer-broken", Mark(LINK), self.fault, POINTER_HINT)
            return Reading(None, findings)
        reading = read_package(self.root, installed=not self.linked)
        if problem := name_problem(self.name):
            reading.findings.add("name-reserved", Mark(MANIFEST), problem, rename_hint(self.name))
        return reading

    def read_manifest(self) -> Manifest | None:
        """Only the manifest, for lists: the rest of the package is neither read nor imported."""
        return read_manifest(PackageFolder(self.root, Findings()))

    def load(self) -> Package:
        """The package as far as a person accepted it. Raises PackageError when it does not validate."""
        from colleague.experts.accepted import as_accepted

        return as_accepted(self, require_valid(self.read(), self.name))

    @property
    def is_accepted(self) -> bool:
        """Whether a person accepted the folder as it is now. Only hashes it."""
        from colleague.packages.digest import digest_of

        entries = PackageFolder(self.root, Findings()).entries()
        try:
            return self.accepts(digest_of(self.root, entries))
        except OSError:
            return False

    def accepts(self, digest: str) -> bool:
        """Whether a person accepted this version. What they put into the home by hand needs no word."""
        return digest == self.record.digest if self.record.digest else not self.linked


def require_usable_name(name: str) -> None:
    """Raises PackageError for a name that no expert may have, wherever it comes from."""
    if problem := name_problem(name):
        raise PackageError(problem, hint=rename_hint(name))


def rename_hint(name: str) -> str:
    """How an expert that is there already gets another name."""
    return f"rename the folders experts/{name} and workspace/expert-state/{name} in the home"


def require_valid(reading: Reading, name: str) -> Package:
    errors = reading.findings.errors
    if reading.package is None or errors:
        more = f" (and {len(errors) - 1} more errors)" if len(errors) > 1 else ""
        raise PackageError(
            f"{name} is not a valid package: {errors[0]}{more}",
            hint=f"see everything with: colleague expert validate {name}",
        )
    return reading.package


def discover(home: Home) -> list[Expert]:
    """Every expert in the home, by name: a folder with an expert.yaml, or with a pointer to one. One that
    cannot be read is among them, and in nobody's way."""
    _recover(home)
    return listed_experts(home)


def listed_experts(home: Home) -> list[Expert]:
    """The same, for whoever only looks: what an interrupted change left is not put in order."""
    records = read_records(home)
    folders = sorted(path for path in home.experts.glob("*") if not path.name.startswith("."))
    found = (_at(home, folder, records.get(folder.name, Record())) for folder in folders)
    return [expert for expert in found if expert is not None]


def linked_folders(home: Home) -> list[Path]:
    """Where the linked packages lie."""
    return [expert.root for expert in listed_experts(home) if expert.linked and not expert.fault]


def find_expert(home: Home, name: str) -> Expert:
    _recover(home)
    if _is_there(home, name):
        expert = _at(home, home.expert(name), read_records(home).get(name, Record()))
        if expert is not None:
            return expert
    experts = {each.name: each for each in discover(home)}
    listed = (
        f"installed: {', '.join(experts)}" if experts else "install one: colleague expert install FOLDER|URL"
    )
    raise NotFound(f"there is no expert {name!r} in {home.root}", hint=did_you_mean(name, experts) or listed)


def _recover(home: Home) -> None:
    if needs_recovery(home.experts):
        with home.changing_experts():
            sweep(home.experts)


def _is_there(home: Home, name: str) -> bool:
    """By its exact name: no path leads to another, and no file system takes capitals for small letters."""
    with contextlib.suppress(FileNotFoundError):
        return not name.startswith(".") and any(each.name == name for each in home.experts.iterdir())
    return False


def _at(home: Home, folder: Path, record: Record) -> Expert | None:
    if is_there(folder / MANIFEST):
        return Expert(folder.name, folder, folder, record, home.snapshots)
    pointer = folder / LINK
    if not is_there(pointer):
        return None
    try:
        return Expert(folder.name, folder, _follow(pointer), record, home.snapshots)
    except OSError as error:
        raise_shortage(error)
        fault = f"{pointer} cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        fault = f"{pointer} does not say where the package is"
    return Expert(folder.name, folder, pointer, record, home.snapshots, fault)


def _follow(pointer: Path) -> Path:
    return Path(json.loads(pointer.read_text(encoding="utf-8"))["path"])
