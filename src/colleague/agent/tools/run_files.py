"""The files of one run, with those that it has for itself."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from colleague.agent.tools.page import TextPage
from colleague.agent.tools.tree import Content, Tree
from colleague.agent.tools.versioned import FileChange, VersionedTree, WrittenVersion
from colleague.store.tx import Database
from colleague.store.versions import A_PERSON, Author


class RunFiles(VersionedTree):
    """A mounted file has versions of its own: under the same path another run has another file, and a
    version that a crash left unfinished must never end up in that."""

    def __init__(self, tree: Tree, database: Database, owner: str, locks: Path) -> None:
        super().__init__(tree, database, owner, locks)
        self._mounted: dict[str, VersionedTree] = {}

    async def change(self, path: str, change: FileChange) -> WrittenVersion:
        mounted = await self._of(await asyncio.to_thread(self.tree.to_write, path))
        return await (mounted.change(path, change) if mounted else super().change(path, change))

    async def restore(self, path: str, number: int, author: Author = A_PERSON) -> WrittenVersion:
        mounted = await self._of(path)
        if mounted:
            return await mounted.restore(path, number, author)
        return await super().restore(path, number, author)

    async def settle(self, path: str) -> None:
        mounted = await self._of(path)
        await (mounted.settle(path) if mounted else super().settle(path))

    async def note_read(self, run_id: str, call_id: str, content: Content, part: TextPage) -> None:
        mounted = await self._of(content.path)
        if mounted:
            await mounted.note_read(run_id, call_id, content, part)
        else:
            await super().note_read(run_id, call_id, content, part)

    async def _of(self, path: str) -> VersionedTree | None:
        """The versions of a mounted file, which are known by where it really is."""
        if not self.tree.is_mounted(path):
            return None
        if path not in self._mounted:
            real = await asyncio.to_thread(self.tree.real, path)
            owner = f"{self._owner}#{hashlib.sha256(str(real).encode()).hexdigest()[:16]}"
            self._mounted.setdefault(path, VersionedTree(self.tree, self._database, owner, self._locks))
        return self._mounted[path]
