"""What would be installed, or changed by an update: shown to a person before it takes effect."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from colleague.expert_document import FindingDocument, PackagePreview, UpdatePreview
from colleague.experts.expert import discover, require_valid
from colleague.experts.install import checked_name
from colleague.experts.summary import trigger_document
from colleague.experts.update import Update
from colleague.home import Home
from colleague.packages.finding import Findings
from colleague.packages.manifest import folder_name
from colleague.packages.package import read_package
from colleague.packages.source import Progress, Source, fetched


def preview_source(home: Home, source: Source, *, name: str, progress: Progress) -> PackagePreview:
    """Fetches a package and reads it; nothing is installed. Raises PackageError when it is not valid."""
    with fetched(source, progress) as found:
        progress("Checking the package")
        return _preview(home, source, found.folder, name)


def _preview(home: Home, source: Source, folder: Path, name: str) -> PackagePreview:
    reading = read_package(folder)
    package = require_valid(reading, str(source))
    chosen = checked_name(name or folder_name(package.name))
    return {
        "source": str(source),
        "name": chosen,
        "taken": any(each.name == chosen for each in discover(home)),
        "version": package.manifest.version,
        "description": package.manifest.description,
        "digest": package.digest,
        "tools": list(package.manifest.requires_tools),
        "tiers": {tier: list(names) for tier, names in package.by_tier().items()},
        "default_tier": package.manifest.policy.approval.default,
        "triggers": [trigger_document(each) for each in package.triggers],
        "findings": finding_documents(reading.findings),
    }


def preview_update(update: Update) -> UpdatePreview:
    origin = update.expert.root if update.accepts_folder else update.source
    return {
        "expert": update.expert.name,
        "source": str(origin),
        "before": update.old.manifest.version,
        "after": update.new.manifest.version,
        "digest": update.new.digest,
        "current": update.current,
        "pinned": update.pinned,
        "needs_force": "" if update.current else update.needs_force,
        "changes": [{"what": each.what, "loosens": each.loosens} for each in update.changes],
    }


def finding_documents(findings: Findings) -> list[FindingDocument]:
    return [cast(FindingDocument, each.as_dict()) for each in findings]
