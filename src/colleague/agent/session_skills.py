"""The skills of a session: which it may use, where its tools find them, and what its prompt says of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from colleague.agent.commands.exec_rules import exec_settings
from colleague.agent.tools.tree import Root
from colleague.config import Settings
from colleague.home import Home
from colleague.protected import protected_paths
from colleague.sandbox.backend import PATH
from colleague.sandbox.session_sandbox import is_sandboxed
from colleague.session_key import SessionKey
from colleague.skills.collection import load_skills
from colleague.skills.eligibility import SkillConditions
from colleague.skills.index import SOURCE
from colleague.skills.places import SkillPlaces
from colleague.skills.skill import Skill
from colleague.skills.snapshot import NO_SKILLS, SkillSnapshot, next_snapshot
from colleague.store.session_entry import SessionEntry, keep_skills_snapshot
from colleague.store.tx import Database


@dataclass(frozen=True)
class SkillFinder:
    """Finds the skills of a home for the sessions of one process."""

    home: Home
    environ: Mapping[str, str]
    plugin_folders: Sequence[Path] = ()
    """Folders with skills of plugins that a person enabled."""

    def of_session(self, settings: Settings, session_key: str) -> list[Skill]:
        """Those that a session may use, by name."""
        conditions = skill_conditions(settings, self.environ, session_key)
        closed = {os.path.realpath(each) for each in (self.home.root, *protected_paths(self.home, settings))}
        found = load_skills(SkillPlaces.of(settings, self.plugin_folders)).skills.values()
        return [
            each
            for each in found
            if conditions.is_allowed(each)
            and conditions.is_eligible(each)
            and not (each.source == "extra" and os.path.realpath(each.folder) in closed)
        ]


@dataclass(frozen=True)
class SessionSkills:
    """Skills with the snapshot of them that the prompt is made from."""

    skills: Sequence[Skill] = ()
    snapshot: SkillSnapshot = NO_SKILLS

    @property
    def roots(self) -> dict[str, Root]:
        """Their folders in the tree of the agent, to read. The text of one is data, as every file's is."""
        return {each.path: Root(each.folder, label=SOURCE) for each in self.skills}


def skill_conditions(settings: Settings, environ: Mapping[str, str], session_key: str) -> SkillConditions:
    """A sandboxed session has the programs that are inside of its sandbox."""
    if is_sandboxed(settings, session_key):
        return SkillConditions(settings, environ, PATH)
    first = exec_settings(settings, SessionKey.parse(session_key).agent_id).path_prepend
    before = [str(Path(each).expanduser()) for each in first]
    return SkillConditions(settings, environ, os.pathsep.join([*before, environ.get("PATH", os.defpath)]))


async def session_skills(finder: SkillFinder, settings: Settings, entry: SessionEntry) -> SessionSkills:
    """As the next turn of a session would have them."""
    found = await asyncio.to_thread(finder.of_session, settings, entry.key)
    stored = SkillSnapshot.read(entry.skills_snapshot)
    now = SkillSnapshot.of(found, settings)
    return SessionSkills(found, next_snapshot(stored, now, watch=settings.skills.load.watch))


async def keep_snapshot(database: Database, entry: SessionEntry, skills: SessionSkills) -> None:
    """Stores the snapshot when it is another than before: a turn that a crash ends goes on with the same."""
    text = skills.snapshot.to_json()
    if text != entry.skills_snapshot:
        await database.write(lambda tx: keep_skills_snapshot(tx, entry.key, text))
