"""The files of a workspace that stand in the prompt, in the order in which the budget is given to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.prompt.text_file import TextFile, read_text_file
from colleague.file_cache import FileCache

FIRST_CONVERSATION = "BOOTSTRAP.md"
HEARTBEAT = "HEARTBEAT.md"
MEMORY = "MEMORY.md"
EXPERTS = "EXPERTS.md"
SOUL = "SOUL.md"
BOOTSTRAP = ("AGENTS.md", "TOOLS.md", SOUL, "IDENTITY.md", "USER.md", MEMORY, FIRST_CONVERSATION, HEARTBEAT)
SUBAGENT = BOOTSTRAP[:5]
"""What sub-agents are given: no memory, no first conversation, no regular checks."""
NOTES = (MEMORY, EXPERTS)
"""Written by the agent, and by the runtime from what packages say of themselves: data, with their source."""
MOST_EXTRA = 50
"""Files that the patterns of `bootstrap-extra-files` may find."""

_read = FileCache(read_text_file)


@dataclass(frozen=True)
class BootstrapFile:
    """One file as it is found. `name` is its path in the workspace; without a `content` it is missing."""

    name: str
    content: TextFile | None
    refused: str = ""
    """Why a file that the settings add is left out."""

    @property
    def basename(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def is_note(self) -> bool:
        return self.basename in NOTES

    @property
    def can_be_read(self) -> bool:
        """Whether the agent has a tool for the rest: the list of experts is closed to its file tools."""
        return self.name != EXPERTS


def bootstrap_files(
    workspace: Path, extra: Sequence[str] = (), *, names: Sequence[str] = (*BOOTSTRAP, EXPERTS)
) -> list[BootstrapFile]:
    """Those with these names at the top of the workspace, and before the list of experts those that the
    patterns `extra` find. Each is read again only when it is another than before."""
    found = [BootstrapFile(name, _content(workspace / name)) for name in names]
    added = {each.name: each for pattern in extra for each in _extra_files(workspace, pattern)}
    more = [each for each in added.values() if each.refused or _may_be_added(each, names)]
    last = found[-1:] if EXPERTS in names else []
    return [*found[: len(found) - len(last)], *more, *last]


def _may_be_added(file: BootstrapFile, names: Sequence[str]) -> bool:
    return file.name not in names and file.basename in names


def _content(file: Path) -> TextFile | None:
    """A link is followed where only a person can have made the file; notes and what is read once are not."""
    if file.name in (*NOTES, FIRST_CONVERSATION) and file.is_symlink():
        return TextFile(problem="it is a link")
    return _read(file)


def _extra_files(workspace: Path, pattern: str) -> Iterator[BootstrapFile]:
    name = Path(pattern).name
    if name not in BOOTSTRAP:
        yield BootstrapFile(
            pattern, None, f"only files with these names can be added: {', '.join(BOOTSTRAP)}"
        )
    elif Path(pattern).is_absolute() or ".." in Path(pattern).parts or "**" in pattern:
        yield BootstrapFile(pattern, None, "it takes paths below the workspace, without .. and without **")
    else:
        top = workspace.resolve()
        for file in _found(workspace, pattern):
            inside = file.resolve().is_relative_to(top)
            shown = file.relative_to(workspace).as_posix()
            refused = "" if inside else "it leads out of the workspace"
            yield BootstrapFile(shown, _content(file) if inside else None, refused)


def _found(workspace: Path, pattern: str) -> list[Path]:
    """A pattern with a star may find many, or none; a plain path is always named."""
    if not any(sign in pattern for sign in "*?["):
        return [workspace / pattern]
    return sorted(each for each, _ in zip(workspace.glob(pattern), range(MOST_EXTRA), strict=False))
