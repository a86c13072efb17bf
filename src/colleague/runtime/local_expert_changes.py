"""Installing, binding, enabling, updating and removing experts, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from colleague.errors import PackageError, UsageError
from colleague.expert_document import EnabledDocument, PackagePreview, UpdatePreview
from colleague.experts.bind import bind_tool, unbind_tool
from colleague.experts.enabling import disable_expert, enable_expert
from colleague.experts.expert import require_valid
from colleague.experts.install import changing_expert, install_expert, remove_expert, require_seen
from colleague.experts.preview import preview_source, preview_update
from colleague.experts.update import Update, apply_update, prepared_update
from colleague.packages.source import Source, parse_source
from colleague.plugins.skill_folders import plugin_skill_folders
from colleague.runtime.expert_service import (
    AcceptedUpdate,
    BindRequest,
    SourceRequest,
    Tell,
    UpdateRequest,
    tell_nobody,
)
from colleague.runtime.local_experts import LocalExperts
from colleague.store.audit import Change

T = TypeVar("T")


class LocalExpertChanges(LocalExperts):
    """The same checks as the commands make. What changes counts for triggers as soon as it is done."""

    async def preview_source(self, asked: SourceRequest, *, tell: Tell = tell_nobody) -> PackagePreview:
        def work() -> PackagePreview:
            return preview_source(self.home, _source(asked), name=asked.name, progress=tell)

        return await asyncio.to_thread(work)

    async def install_expert(
        self, asked: SourceRequest, digest: str, *, tell: Tell = tell_nobody
    ) -> dict[str, Any]:
        _require_digest(digest)

        def work() -> str:
            source, workspace = _source(asked), self.settings.workspace
            found = install_expert(
                self.home, workspace, source, name=asked.name, progress=tell, digest=digest
            )
            return found.name

        about = {"source": str(_source(asked)), "digest": digest}
        return await self.expert(
            await self._changed(lambda name: Change("expert.install", name, name, detail=about), work)
        )

    async def bind_tool(self, name: str, asked: BindRequest) -> None:
        if not asked.server.strip():
            raise UsageError(f"{asked.tool} is to be bound to nothing", hint="name a server or a skill")

        def work() -> None:
            with changing_expert(self.home, self.settings.workspace, name) as expert:
                package = require_valid(expert.read(), name)
                bind_tool(
                    expert,
                    package,
                    asked.tool,
                    asked.server.strip(),
                    skill=asked.skill,
                    operations=asked.operations,
                )

        await self._changed(Change("expert.bind", asked.tool, name, detail={"to": asked.server}), work)

    async def unbind_tool(self, name: str, tool: str) -> None:
        def work() -> None:
            with changing_expert(self.home, self.settings.workspace, name) as expert:
                unbind_tool(expert, tool)

        await self._changed(Change("expert.unbind", tool, name), work)

    async def enable_expert(self, name: str) -> EnabledDocument:
        skills = plugin_skill_folders(self.home, self.settings)
        change = Change("expert.enable", name, name)
        await self._changed(change, lambda: enable_expert(self.home, self.settings, name, skills))
        broken = [each for each in await self.triggers(name) if each["problems"]]
        problems = [
            f"{each['trigger']} cannot work: {problem['message']} ({problem['cure']})"
            for each in broken
            for problem in each["problems"]
        ]
        return {"expert": name, "enabled": True, "problems": problems}

    async def disable_expert(self, name: str) -> None:
        change = Change("expert.disable", name, name)
        await self._changed(change, lambda: disable_expert(self.home, self.settings.workspace, name))

    async def preview_update(
        self, name: str, asked: UpdateRequest, *, tell: Tell = tell_nobody
    ) -> UpdatePreview:
        def work() -> UpdatePreview:
            with prepared_update(
                self.home, name, tell, accept_edits=asked.accept_edits, to=asked.to
            ) as update:
                return preview_update(update)

        return await asyncio.to_thread(work)

    async def update_expert(
        self, name: str, asked: UpdateRequest, accepted: AcceptedUpdate, *, tell: Tell = tell_nobody
    ) -> UpdatePreview:
        _require_digest(accepted.digest)

        def work() -> UpdatePreview:
            with prepared_update(
                self.home, name, tell, accept_edits=asked.accept_edits, to=asked.to
            ) as update:
                _require_accepted(update, accepted)
                apply_update(self.home, self.settings.workspace, update)
                return preview_update(update)

        about = {"digest": accepted.digest, "loosens": accepted.loosen, "force": accepted.force}
        return await self._changed(Change("expert.update", name, name, detail=about), work)

    async def remove_expert(self, name: str, *, purge: bool = False) -> None:
        change = Change("expert.remove", name, name, detail={"purge": purge})
        workspace = self.settings.workspace
        await self._changed(change, lambda: remove_expert(self.home, workspace, name, purge=purge))

    async def _changed(self, change: Change | Callable[[T], Change], work: Callable[[], T]) -> T:
        """Does it beside the loop and writes it down; the triggers are read again whatever came of it."""
        try:
            done = await asyncio.to_thread(work)
        finally:
            await self.registry.renew()
        noted = change if isinstance(change, Change) else change(done)
        await self.database.write(lambda tx: self._note(tx, noted))
        return done


def _source(asked: SourceRequest) -> Source:
    return parse_source(asked.source.strip(), path=asked.path.strip(), link=asked.link)


def _require_digest(digest: str) -> None:
    if not digest:
        raise UsageError("which version is meant is not said", hint="look at it first; that names its digest")


def _require_accepted(update: Update, accepted: AcceptedUpdate) -> None:
    """Raises PackageError for another version than the one looked at, or without the words it needs."""
    name = update.expert.name
    require_seen(update.new, accepted.digest)
    if update.current:
        return
    if update.needs_force and not accepted.force:
        raise PackageError(f"{name} is not updated: {update.needs_force}", hint="say that you want it anyway")
    if update.loosens and not accepted.loosen:
        raise PackageError(
            f"{name} may then do more without asking than before", hint="say that you accept that"
        )
