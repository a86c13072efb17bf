"""The tool that changes several files at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from colleague.agent.tool import PreparedTool, ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import Arguments, parameters, text
from colleague.agent.tools.file_tool import FileTool
from colleague.agent.tools.page import kind_of
from colleague.agent.tools.patch import FilePatch, PatchError, parse_patch, patched
from colleague.agent.tools.path import MissingPath, escaped
from colleague.agent.tools.versioned import ChangeRefused, FileChange, VersionedTree
from colleague.errors import ColleagueError
from colleague.store.versions import ABSENT, Author, hash_of

_DESCRIPTION = (
    "Changes files by a patch; all of it is checked before the first change. It is text in this form, "
    "paths from the top of the tree: *** Begin Patch, then for each file *** Add File: path with lines "
    "that begin with +, or "
    "*** Update File: path (and, to move it, *** Move to: path) with changes that begin with @@ and have "
    "lines with a space (kept), - (removed) or + (added), or *** Delete File: path; then *** End Patch."
)


@dataclass(frozen=True)
class PlannedFile:
    """One file as it is before, by its hash, and as it is to be. No data: it is to be gone."""

    path: str
    before: str
    data: bytes | None

    @property
    def after(self) -> str:
        return hash_of(self.data)


class ApplyPatchTool(FileTool, PreparedTool):
    """`apply_patch`: prepared before, recovered after a crash, as `write` and `edit` are."""

    spec = ToolSpec(
        name="apply_patch",
        description=_DESCRIPTION,
        parameters=parameters("input", input=text("The patch, from *** Begin Patch to *** End Patch")),
        repeatable=True,
    )

    def __init__(self, files: VersionedTree, run_id: str) -> None:
        super().__init__(files.tree)
        self._files = files
        self._run_id = run_id

    async def prepare(self, request: ToolRequest) -> str:
        """Each file with its hash before and after; none where the call will be refused."""
        try:
            planned = await self._planned(self._patches(request))
        except (ColleagueError, OSError):
            planned = []
        files = {each.path: {"before": each.before, "after": each.after} for each in planned}
        return json.dumps({"files": files})

    async def recover(self, request: ToolRequest, prepared: str) -> ToolOutput:
        """Files that have what they were to get are done; those that are as before are done now."""
        known: dict[str, dict[str, str]] = json.loads(prepared)["files"]
        try:
            undone = await self._undone(self._patches(request), known) if known else self._patches(request)
            planned = await self._planned(undone, known)
            return await self._apply(
                planned, request, done=[path for path in known if not _in(planned, path)]
            )
        except (ColleagueError, OSError) as error:
            return await self.error(error)

    async def answer(self, arguments: Arguments, request: ToolRequest) -> ToolOutput:  # noqa: ARG002
        return await self._apply(await self._planned(self._patches(request)), request)

    def _patches(self, request: ToolRequest) -> list[FilePatch]:
        """With the paths as they are on disk. Raises before anything is done."""
        patches = parse_patch(Arguments.of(self.spec, request.arguments).text("input"))
        real = [self._with_real_paths(each) for each in patches]
        paths = [path for each in real for path in each.paths]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise PatchError(f"{escaped(twice)} is in the patch twice. Put its changes under one heading.")
        return real

    def _with_real_paths(self, patch: FilePatch) -> FilePatch:
        move_to = self.tree.to_write(patch.move_to) if patch.move_to else ""
        return replace(patch, path=self.tree.to_write(patch.path), move_to=move_to)

    async def _undone(self, patches: list[FilePatch], known: dict[str, dict[str, str]]) -> list[FilePatch]:
        undone = []
        for each in patches:
            states = [await self._hash(path) == known[path]["after"] for path in each.paths]
            if not all(states):
                undone.append(each)
        return undone

    async def _hash(self, path: str) -> str:
        content = await asyncio.to_thread(self.tree.read_if_there, path)
        return hash_of(content.data if content else None)

    async def _planned(
        self, patches: list[FilePatch], known: dict[str, dict[str, str]] | None = None
    ) -> list[PlannedFile]:
        """All that is to be done. Nothing has been done when this raises."""
        planned = [each for patch in patches for each in await asyncio.to_thread(self._plan, patch, known)]
        for each in planned:
            if known and each.before != known[each.path]["before"]:
                raise PatchError(
                    f"{escaped(each.path)} was changed by someone else while this call was interrupted."
                )
        return planned

    def _plan(self, patch: FilePatch, known: dict[str, dict[str, str]] | None) -> list[PlannedFile]:
        content = self.tree.read_if_there(patch.path)
        if patch.kind == "add":
            if content is not None:
                raise PatchError(f"{escaped(patch.path)} exists already. Use *** Update File: for it.")
            return [PlannedFile(patch.path, ABSENT, patch.text.encode())]
        if content is None:
            folder, _, name = patch.path.rpartition("/")
            raise MissingPath(patch.path, folder, name)
        before = hash_of(content.data)
        if patch.kind == "delete":
            return [PlannedFile(patch.path, before, None)]
        after = _changed(patch, content.data)
        if not patch.move_to:
            return [PlannedFile(patch.path, before, after)]
        there = self.tree.read_if_there(patch.move_to)
        is_moved = known is not None and there is not None and there.data == after
        if there is not None and not is_moved:
            raise PatchError(f"{escaped(patch.move_to)} exists already; nothing is moved over it.")
        return [PlannedFile(patch.move_to, ABSENT, after), PlannedFile(patch.path, before, None)]

    async def _apply(
        self, planned: list[PlannedFile], request: ToolRequest, done: Sequence[str] = ()
    ) -> ToolOutput:
        lines = [f"{escaped(path)}: done before" for path in done]
        for number, each in enumerate(planned):
            try:
                lines.append(await self._put(each, request))
            except ChangeRefused as refusal:
                rest = ", ".join(escaped(left.path) for left in planned[number:])
                made = f" Done: {'; '.join(lines)}. Not done: {rest}." if lines else ""
                return ToolOutput(f"{refusal.message}{made}", is_error=True)
        return ToolOutput("\n".join(lines))

    async def _put(self, planned: PlannedFile, request: ToolRequest) -> str:
        path, data = planned.path, planned.data
        if data is None:
            await self._files.remove(path, planned.before)
            return f"{escaped(path)} is deleted; its last version is kept"
        author = Author(self._run_id, f"{request.call_id}/{path}")
        whole = planned.before == ABSENT
        change = FileChange(author, lambda _: data, whole, planned.before)
        version = (await self._files.change(path, change)).version
        return f"{escaped(path)} is written{f': version {version.number}' if version else ''}"


def _in(planned: Sequence[PlannedFile], path: str) -> bool:
    return any(each.path == path for each in planned)


def _changed(patch: FilePatch, data: bytes) -> bytes:
    if not patch.hunks:
        return data
    if kind := kind_of(data):
        raise PatchError(f"{escaped(patch.path)} is {kind}, which cannot be changed as text.")
    now = data.decode("utf-8", "surrogateescape")
    return patched(patch.path, now, patch.hunks).encode("utf-8", "surrogateescape")
