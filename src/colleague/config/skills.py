"""`skills`: where skills come from, how many there may be, and what is set for each."""

from collections.abc import Mapping

from pydantic import Field

from colleague.config.secret import Secret
from colleague.config.section import (
    Flag,
    FreeForm,
    Int,
    Names,
    Positive,
    Section,
    Variable,
    keys,
    part,
    works,
)


class SkillsLoad(Section):
    passed_over = keys("allowSymlinkTargets watchDebounceMs")

    extra_dirs: Names = works(
        default=(), description="More folders with skills; those of the other places count before them."
    )
    watch: Flag = works(
        default=True,
        description="Whether a session notices changed skills at its next turn, or in a new conversation.",
    )


class SkillsLimits(Section):
    passed_over = keys("maxCandidatesPerRoot maxSkillsLoadedPerSource")

    max_skills_in_prompt: Positive = works(default=150, description="Skills listed in the prompt.")
    max_skills_prompt_chars: Int = works(
        default=18_000,
        description="Characters of that list; descriptions are cut before skills are left out.",
    )
    max_skill_file_bytes: Positive = works(default=256_000, description="The largest SKILL.md that is read.")


class SkillEntry(Section):
    enabled: Flag = works(default=True, description="Whether the skill is used.")
    api_key: Secret | None = works(
        default=None,
        description="The key that its commands get in the variable it names as primaryEnv, best as ${NAME}.",
    )
    env: Mapping[str, Variable] = works(
        default_factory=dict, description="Environment variables for its commands, and for no others."
    )
    config: FreeForm = works(
        default_factory=dict,
        description="Its own settings: its commands get them as JSON in SKILL_CONFIG, and requires.config "
        "may ask for them.",
    )


class Skills(Section):
    passed_over = keys("install allowRemoteEligibilityExpansion workshop")

    allow_bundled: Names | None = works(
        default=None, description="Bundled skills that are used; all when not set."
    )
    load: SkillsLoad = part(SkillsLoad, description="Where skills come from.")
    limits: SkillsLimits = part(SkillsLimits, description="How many there may be.")
    entries: Mapping[str, SkillEntry] = Field(default_factory=dict, description="Settings by skill.")
