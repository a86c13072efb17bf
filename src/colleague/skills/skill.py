"""A skill: instructions for an agent in a SKILL.md, what they need, and the tools they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SKILL_FILE = "SKILL.md"
EVERY = "*"
FILE_TOOLS = ("read", "ls", "find", "grep", "write", "edit")

SkillSource = Literal["plugin", "extra", "bundled", "managed", "workspace"]
SOURCES: tuple[SkillSource, ...] = ("plugin", "extra", "bundled", "managed", "workspace")
"""Of two skills with one name the one from the later source counts."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_MCP = re.compile(r"mcp__(?P<server>.+?)(?:__(?P<tool>.+))?")


@dataclass(frozen=True)
class AllowedTool:
    """One entry of `allowed-tools`; without a server it is a native tool."""

    server: str
    tool: str

    @classmethod
    def read(cls, word: str) -> AllowedTool:
        """`mcp__server__tool`, `mcp__server`, `server/tool`, or the name of a native tool."""
        if found := _MCP.fullmatch(word):
            return cls(found["server"], found["tool"] or EVERY)
        server, _, tool = word.rpartition("/")
        return cls(server, tool if server else word.lower())

    def allows(self, tool: str) -> bool:
        return self.tool in (EVERY, tool)

    def __str__(self) -> str:
        return f"{self.server}/{self.tool}" if self.server else self.tool


@dataclass(frozen=True)
class SkillNeeds:
    """What must be there before a skill is offered. Of `any_bins` one is enough."""

    os: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    always: bool = False
    """Whether nothing but the system counts."""


@dataclass(frozen=True)
class InstallHint:
    """A way to get what is missing, as the author of the skill says it. Nothing installs it."""

    kind: str
    what: str
    label: str
    os: tuple[str, ...] = ()

    def __str__(self) -> str:
        means = f"{self.kind} {self.what}".strip()
        return f"{self.label} ({means})" if self.label else means


@dataclass(frozen=True)
class SkillHead:
    """The frontmatter of a SKILL.md. `name` is empty where it has none that can be used."""

    name: str
    description: str
    key: str = ""
    """What the skill is called under `skills.entries`, when that is not its name."""
    allowed: tuple[AllowedTool, ...] = ()
    needs: SkillNeeds = SkillNeeds()
    primary_env: str = ""
    install: tuple[InstallHint, ...] = ()
    homepage: str = ""
    user_invocable: bool = True
    model_invocable: bool = True
    """Whether the model may choose it by itself: only then it is in the index."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Skill:
    """A skill that can be read."""

    name: str
    source: SkillSource
    folder: Path
    head: SkillHead

    @property
    def file(self) -> Path:
        return self.folder / SKILL_FILE

    @property
    def key(self) -> str:
        return self.head.key or self.name

    @property
    def path(self) -> str:
        """Its folder in the tree of an agent."""
        return f"skills/{self.name}"

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.server for each in self.head.allowed if each.server))

    def candidates(self, tool: str) -> list[AllowedTool]:
        """The entries that a name may mean: `server/tool` exactly one, a bare name each that has it."""
        server, slash, name = tool.rpartition("/")
        allowed = self.head.allowed
        wanted = [each for each in allowed if each.allows(name) and (not slash or each.server == server)]
        return sorted(wanted, key=lambda each: each.tool == EVERY)


@dataclass(frozen=True)
class BrokenSkill:
    """A folder that should be a skill and cannot be used. `problem` names the file, and the line if there is
    one."""

    name: str
    source: SkillSource
    folder: Path
    problem: str
    hint: str = ""


@dataclass(frozen=True)
class OverriddenSkill:
    """A skill that does not count, because another one has its name."""

    skill: Skill
    by: Skill


def most_specific_first(skills: Sequence[Skill]) -> list[Skill]:
    return sorted(skills, key=lambda each: (-SOURCES.index(each.source), each.name))
