"""A skill of the home: instructions for an agent, and the tools with which they are carried out.

Its owner put it there, as `skills/<name>/SKILL.md` in the workspace or in the home, so its text is an
instruction. `allowed-tools` names tools of configured MCP servers (`mcp__server__tool`, `server/tool`, `*`
for every tool of a server) and file tools (`read`, `write`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.experts.bindings import Bindings
from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.markdown import read_markdown
from colleague.packages.part_name import is_path

SKILL_FILE = "SKILL.md"
FILE_TOOLS = ("read", "ls", "find", "grep", "write", "edit")
EVERY = "*"

_MCP = re.compile(r"mcp__(?P<server>.+?)(?:__(?P<tool>.+))?")
_SEPARATOR = re.compile(r"[\s,]+")


@dataclass(frozen=True)
class AllowedTool:
    """One entry of `allowed-tools`; without a server it is a file tool."""

    server: str
    tool: str

    def allows(self, tool: str) -> bool:
        return self.tool in (EVERY, tool)

    def __str__(self) -> str:
        return f"{self.server}/{self.tool}" if self.server else self.tool


@dataclass(frozen=True)
class Skill:
    """A SKILL.md, read."""

    name: str
    file: Path
    description: str
    instructions: str
    allowed: tuple[AllowedTool, ...]

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.server for each in self.allowed if each.server))

    def candidates(self, tool: str) -> list[AllowedTool]:
        """The entries that a name may mean: `server/tool` exactly one, a bare name each that has it."""
        server, slash, name = tool.rpartition("/")
        wanted = [each for each in self.allowed if each.allows(name) and (not slash or each.server == server)]
        return sorted(wanted, key=lambda each: each.tool == EVERY)


def skill_folders(workspace: Path, home_root: Path) -> tuple[Path, ...]:
    return workspace / "skills", home_root / "skills"


def find_skill(folders: Sequence[Path], name: str) -> Skill | None:
    """The first of its name; None when there is none, or it cannot be read."""
    if is_path(name):
        return None
    for folder in folders:
        if (folder / name / SKILL_FILE).is_file():
            return _read(folder / name, name)
    return None


def bound_skills(bindings: Bindings, folders: Sequence[Path]) -> dict[str, Skill]:
    """The skills that tools are bound to, by tool."""
    bound = {tool: each.server for tool, each in bindings.tools.items() if each.type == "skill"}
    found = {tool: find_skill(folders, name) for tool, name in bound.items()}
    return {tool: skill for tool, skill in found.items() if skill is not None}


def _read(folder: Path, name: str) -> Skill | None:
    findings = Findings()
    file = read_markdown(PackageFolder(folder, findings), SKILL_FILE, Mark(SKILL_FILE), "a skill")
    if file is None:
        return None
    named = file.fields.texts("allowed-tools")
    return Skill(
        name=name,
        file=folder / SKILL_FILE,
        description=file.fields.text("description"),
        instructions=file.body.strip(),
        allowed=tuple(_allowed(word) for text in named for word in _words(text)),
    )


def _words(text: str) -> Iterable[str]:
    return filter(None, _SEPARATOR.split(text))


def _allowed(word: str) -> AllowedTool:
    if found := _MCP.fullmatch(word):
        return AllowedTool(found["server"], found["tool"] or EVERY)
    server, _, tool = word.rpartition("/")
    return AllowedTool(server, tool if server else word.lower())
