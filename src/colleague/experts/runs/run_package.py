"""The package a run began with, and the policy it has to keep to today."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from colleague.errors import PackageError
from colleague.experts.expert import Expert, require_valid
from colleague.file_cache import FileCache
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.manifest import Manifest, read_manifest
from colleague.packages.names import MANIFEST
from colleague.packages.package import Package, read_package
from colleague.packages.policy import TIERS, Policy, Tier

MOST_KEPT = 64


def _manifest(file: Path) -> Manifest | None:
    return read_manifest(PackageFolder(file.parent, Findings()))


@dataclass(frozen=True)
class RunPackages:
    """Packages by digest, read once: a snapshot never changes."""

    home: Home
    _read: OrderedDict[str, Package] = field(default_factory=OrderedDict)
    _manifest: FileCache[Manifest | None] = field(default_factory=lambda: FileCache(_manifest))

    def package(self, expert: str, digest: str) -> Package:
        """Raises PackageError when the snapshot is gone."""
        if digest in self._read:
            self._read.move_to_end(digest)
            return self._read[digest]
        folder = self.home.snapshots / digest
        if not digest or not folder.is_dir():
            raise PackageError(
                f"the version of {expert} that this run began with is gone ({folder})",
                hint="start it again, with the version that is installed",
            )
        package = require_valid(read_package(folder), expert)
        self._read[digest] = package
        while len(self._read) > MOST_KEPT:
            self._read.popitem(last=False)
        return package

    def policies(self, expert: Expert, package: Package) -> Policies:
        """The pinned policy, and the one of the version that is installed now."""
        manifest = self._manifest(expert.root / MANIFEST)
        return Policies(package.manifest.policy, manifest.policy if manifest else None)


@dataclass(frozen=True)
class Policies:
    """Of two policies the stricter one counts."""

    pinned: Policy
    installed: Policy | None = None

    def tier(self, operation: str) -> Tier:
        tiers = [policy.tier(operation) for policy in (self.pinned, self.installed) if policy]
        return max(tiers, key=TIERS.index)
