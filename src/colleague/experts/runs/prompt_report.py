"""The system prompt of an expert as people look at it: whole, and how long each part is."""

from __future__ import annotations

from colleague.agent.prompt.assemble import prompt_tail
from colleague.agent.prompt.runtime_info import RuntimeInfo
from colleague.config import Settings
from colleague.expert_document import ExpertPrompt, ExpertPromptSection
from colleague.experts.bindings import read_bindings
from colleague.experts.bound_skills import bound_skills
from colleague.experts.expert import Expert
from colleague.experts.runs.prompt import PromptSource, prompt_sections
from colleague.experts.workspace.learnings import package_learnings
from colleague.experts.workspace.workspace import Workspace
from colleague.packages.finding import Findings
from colleague.skills.lookup import SkillLookup

TAIL = "Date, time and runtime"


def expert_prompt(settings: Settings, lookup: SkillLookup, expert: Expert, now_ms: int) -> ExpertPrompt:
    learnings = package_learnings(Workspace.of(settings.workspace, expert.name).learnings)
    skills = bound_skills(read_bindings(expert.bindings_file, Findings()), lookup)
    sections = [_section(text) for text in prompt_sections(PromptSource(expert.load(), learnings, skills))]
    tail = prompt_tail(settings, now_ms, RuntimeInfo(expert.name))
    sections.append({"name": TAIL, "chars": len(tail), "text": tail})
    text = "\n\n".join(each["text"] for each in sections) + "\n"
    return {
        "expert": expert.name,
        "session": expert.label,
        "chars": len(text),
        "sections": sections,
        "prompt": text,
    }


def _section(text: str) -> ExpertPromptSection:
    return {"name": text.partition("\n")[0].removeprefix("## "), "chars": len(text), "text": text}
