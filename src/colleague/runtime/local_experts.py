"""Looking at the experts of a home, in this process."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from colleague.agent.tools.tree import Content
from colleague.budget import Budget
from colleague.clock import iso
from colleague.errors import BindingsError, NotFound
from colleague.expert_document import (
    BindableDocument,
    ExpertActivity,
    ExpertPrompt,
    FileDifference,
    FileDocument,
    FileTextDocument,
    FileVersionDocument,
    LearningDocument,
    LearningsDocument,
    LimitDocument,
    ProposedLearning,
    ValidationDocument,
)
from colleague.experts.binding_probe import probe_bindings, time_limit
from colleague.experts.bindings import Bindings, read_bindings
from colleague.experts.expert import Expert, discover, find_expert
from colleague.experts.launch_acceptance import held_servers
from colleague.experts.preview import finding_documents
from colleague.experts.privacy.redactor import PrivateText, private_text
from colleague.experts.rehearsal.file_checks import check_rehearsal
from colleague.experts.runs.preflight import Preflight
from colleague.experts.runs.prompt_report import expert_prompt
from colleague.experts.runs.redacted_report import approval_report
from colleague.experts.summary import brief, full
from colleague.experts.workspace.file_history import (
    difference,
    files_with_versions,
    find_file,
    shown_version,
    version_document,
    versions_of,
)
from colleague.experts.workspace.learnings import (
    LearningEntry,
    entries,
    learnings_file,
    scopes,
    with_entry,
)
from colleague.experts.workspace.restore import current_file
from colleague.experts.workspace.workspace import Workspace
from colleague.mcp.probe import Probed
from colleague.mcp.servers import Servers
from colleague.packages.finding import Findings
from colleague.packages.package import Package
from colleague.plugins.skill_folders import plugin_skill_folders
from colleague.run_document import ApprovalDocument
from colleague.runtime.expert_service import Tell, tell_nobody
from colleague.runtime.expert_validation import (
    CheckedBindings,
    check_expert_bindings,
    check_expert_triggers,
    check_own_runs,
)
from colleague.runtime.service_base import ServiceBase
from colleague.skills.collection import load_skills
from colleague.skills.lookup import SkillLookup
from colleague.skills.places import SkillPlaces
from colleague.store.approvals import pending_learnings
from colleague.store.event_report import events_page
from colleague.store.lanes import open_lanes
from colleague.store.spend import spent_by_day
from colleague.store.tx import Tx
from colleague.store.versions import get_version
from colleague.triggers.agent_schedules import agent_documents
from colleague.triggers.problems import problem_finder
from colleague.triggers.trigger_list import trigger_documents

EVENTS = 20
DAYS = 7


class LocalExperts(ServiceBase):
    """What each is, how it is, and what it has written. Reading many files happens beside the loop."""

    async def experts(self) -> list[dict[str, Any]]:
        def work() -> list[dict[str, Any]]:
            return [brief(each, each.read_manifest(), _bindings(each)) for each in discover(self.home)]

        return await asyncio.to_thread(work)

    async def expert(self, name: str) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            found = find_expert(self.home, name)
            return full(found, found.load(), _bindings(found, strict=True))

        return await asyncio.to_thread(work)

    async def triggers(self, expert: str = "") -> list[dict[str, Any]]:
        find = problem_finder(self.settings, self.environ)

        def work(tx: Tx) -> list[dict[str, Any]]:
            own = agent_documents(tx, self.settings, expert)
            return [*trigger_documents(tx, self.registry, find, expert), *own]

        return await self.database.read(work)

    async def check_expert(
        self, name: str, *, probe: bool = False, tell: Tell = tell_nobody
    ) -> ValidationDocument:
        expert = find_expert(self.home, name)
        reading = await asyncio.to_thread(expert.read)
        findings, package = reading.findings, reading.package
        asked: tuple[str, ...] = ()
        probed: list[Probed] = []
        if package is not None:
            await asyncio.to_thread(check_rehearsal, package, findings)
            checked = await asyncio.to_thread(
                check_expert_bindings, self.home, self.settings, expert, package, findings
            )
            if expert.record.enabled:
                preflight = Preflight(self.home, self.settings, self.environ)
                await asyncio.to_thread(check_own_runs, preflight, name, checked.bindings, findings)
            asked = checked.servers if probe else ()
            if asked:
                probed = await self._probe(expert, package, checked, findings, tell)
            await asyncio.to_thread(
                check_expert_triggers, self.home, expert, self.settings, self.environ, probed, findings
            )
        return {
            "expert": name,
            "version": package.manifest.version if package else "",
            "ok": findings.ok,
            "findings": finding_documents(findings),
            "servers": list(asked),
        }

    async def _probe(
        self, expert: Expert, package: Package, checked: CheckedBindings, findings: Findings, tell: Tell
    ) -> list[Probed]:
        """In processes of their own, so that the servers of runs are left alone."""
        waiting = list(checked.servers)
        tell(f"Starting {', '.join(waiting)}")

        def done(probed: Probed) -> None:
            waiting.remove(probed.name)
            tell(f"Waiting for {', '.join(waiting)}" if waiting else "Stopping them again")

        held = await held_servers(self.database, self.settings)
        seconds = time_limit(self.settings, waiting)
        async with Servers.of(self.home, self.settings, self.environ, held=held) as servers:
            return await probe_bindings(
                package,
                checked.bindings,
                servers,
                findings,
                name=expert.name,
                seconds=seconds,
                tell=done,
                skills=checked.skills,
            )

    async def expert_activity(self, name: str) -> ExpertActivity:
        bindings = await asyncio.to_thread(lambda: _bindings(find_expert(self.home, name)))

        def work(tx: Tx) -> ExpertActivity:
            return {
                "lanes": [
                    {
                        "lane": each.lane,
                        "open": each.open,
                        "first": each.first,
                        "first_status": each.first_status,
                    }
                    for each in open_lanes(tx, name)
                ],
                "days": [
                    {"day": day, "tokens": spent.tokens, "cost": spent.cost, "tool_calls": spent.tool_calls}
                    for day, spent in spent_by_day(tx, name, DAYS)
                ],
                "day_budget": _limits(bindings.day_budget),
                "run_budget": _limits(bindings.run_budget),
                "events": events_page(tx, limit=EVENTS, expert=name).items,
            }

        return await self.database.read(work)

    async def expert_prompt(self, name: str) -> ExpertPrompt:
        now = await self.database.read(lambda tx: tx.now)

        def work() -> ExpertPrompt:
            lookup = SkillLookup.of(
                self.settings, self.environ, plugin_skill_folders(self.home, self.settings)
            )
            return expert_prompt(self.settings, lookup, find_expert(self.home, name), now)

        return await asyncio.to_thread(work)

    async def learnings(self, name: str) -> LearningsDocument:
        expert = find_expert(self.home, name)
        folder = Workspace.of(self.settings.workspace, name).learnings

        def read() -> list[LearningDocument]:
            private = self._private(expert)
            found = [asdict(each) for scope in scopes(folder) for each in entries(folder, scope)]
            return [private.redact_document(each) for each in found]

        def waiting(tx: Tx) -> list[ApprovalDocument]:
            return [approval_report(tx, self.home, each) for each in pending_learnings(tx, name)]

        proposed = [_proposed(each, folder) for each in await self.database.read(waiting)]
        return {"learned": await asyncio.to_thread(read), "proposed": proposed}

    async def expert_files(self, name: str) -> list[FileDocument]:
        def declared() -> dict[str, str]:
            package = find_expert(self.home, name).read().package
            return {item.path: item.scope for item in package.state} if package else {}

        known = await asyncio.to_thread(declared)
        found = await self.database.read(lambda tx: files_with_versions(tx, name))
        changed = {each.path: each for each in found}
        paths = [*known, *(path for path in changed if path not in known)]
        return [
            {
                "path": path,
                "versions": changed[path].versions if path in changed else 0,
                "written_at": iso(changed[path].written_at) if path in changed else None,
                "scope": known.get(path),
            }
            for path in paths
        ]

    async def file_versions(self, name: str, file: str, *, limit: int = 100) -> list[FileVersionDocument]:
        def work(tx: Tx) -> list[dict[str, Any]]:
            found = versions_of(tx, name, file, limit=limit)
            return [version_document(tx, self.home, version) for version in found]

        return cast(list[FileVersionDocument], await self.database.read(work))

    async def file_text(self, name: str, file: str, version: int | None = None) -> FileTextDocument:
        expert = find_expert(self.home, name)
        try:
            found = await self.database.read(lambda tx: shown_version(tx, name, file, version))
        except NotFound:
            now = await asyncio.to_thread(self._unchanged, name, file) if version is None else None
            if now is None:
                raise
            return {"path": now.path, "version": None, "text": self._redacted_text(expert, now.data)}
        return {
            "path": found.key.path,
            "version": found.number,
            "text": self._redacted_text(expert, found.data),
        }

    def _unchanged(self, name: str, file: str) -> Content | None:
        """A state file that no run has changed. Others are the package's own, or nobody's to read here."""
        package = find_expert(self.home, name).read().package
        if package is None or file not in {item.path for item in package.state}:
            return None
        return current_file(self.home, self.settings, name, file)

    def _redacted_text(self, expert: Expert, data: bytes) -> str:
        return self._private(expert).redact(data.decode("utf-8", errors="replace"))

    async def file_difference(self, name: str, file: str, before: int, after: int) -> FileDifference:
        expert = find_expert(self.home, name)

        def work(tx: Tx) -> FileDifference:
            key = find_file(tx, name, file)
            lines = difference(get_version(tx, key, before), get_version(tx, key, after))
            shown = self._private(expert).redact("\n".join(lines)).split("\n") if lines else []
            return {"path": key.path, "before": before, "after": after, "lines": shown}

        return await self.database.read(work)

    async def bindable(self, name: str) -> BindableDocument:
        find_expert(self.home, name)
        places = SkillPlaces.of(self.settings, plugin_skill_folders(self.home, self.settings))
        skills = await asyncio.to_thread(load_skills, places)
        return {"servers": sorted(self.settings.mcp.servers), "skills": sorted(skills.skills)}

    def _private(self, expert: Expert) -> PrivateText:
        return private_text(self.home.snapshots, expert.record.digest)


def _bindings(expert: Expert, *, strict: bool = False) -> Bindings:
    findings = Findings()
    bindings = read_bindings(expert.bindings_file, findings)
    if strict and findings.errors:
        raise BindingsError(str(findings.errors[0]), hint=f"mend {expert.bindings_file.name}")
    return bindings


def _limits(budget: Budget) -> LimitDocument:
    return cast(LimitDocument, asdict(budget))


def _proposed(approval: ApprovalDocument, folder: Path) -> ProposedLearning:
    said = approval["arguments"]
    entry = LearningEntry(**{name: said[name] for name in LearningEntry.__dataclass_fields__})
    file = f"learnings/{learnings_file(entry.scope)}"
    now, then = (text.splitlines() for text in with_entry(folder, entry, int(said["most"])))
    return {
        "approval": approval,
        "file": file,
        "lines": list(unified_diff(now, then, file, file, lineterm="")),
    }
