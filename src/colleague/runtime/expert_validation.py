"""Both phases of validation for an installed expert: its package, then bindings, triggers and servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from colleague.agent.models.resolve import resolve_model
from colleague.agent.models.script import ScriptError
from colleague.config import Settings
from colleague.errors import ColleagueError, NotFound
from colleague.experts.binding_checks import binding_context, check_bindings
from colleague.experts.binding_probe import bound_servers
from colleague.experts.bindings import Bindings
from colleague.experts.bound_skills import BoundSkills, bound_skills
from colleague.experts.expert import Expert
from colleague.experts.runs.inputs import REHEARSAL
from colleague.experts.runs.preflight import CannotStart, Preflight
from colleague.home import Home
from colleague.mcp.probe import Probed
from colleague.packages.finding import Findings
from colleague.packages.package import Package
from colleague.plugins.report import plugin_channels, plugin_model_providers
from colleague.plugins.skill_folders import plugin_skill_folders
from colleague.triggers.problems import UNSET, served_problems, trigger_problems
from colleague.triggers.registry import bind_triggers

UNREACHABLE = "server-unreachable"
MODEL_UNKNOWN = "binding-model-unknown"
TOOL_TROUBLE = {"tool-unbound", "server-unknown", UNREACHABLE}
_SAID_OF_TOOLS = {"trigger-inactive", "trigger-mail-lookup"}


@dataclass(frozen=True)
class CheckedBindings:
    """The bindings of an expert, and the servers that they name and the settings know."""

    bindings: Bindings
    servers: tuple[str, ...]
    skills: BoundSkills


def check_expert_bindings(
    home: Home, settings: Settings, expert: Expert, package: Package, findings: Findings
) -> CheckedBindings:
    around = binding_context(settings, home.root, expert.name, plugin_skill_folders(home, settings))
    bindings = check_bindings(expert, package, around, findings)
    _check_model(home, settings, bindings, findings)
    skills = bound_skills(bindings, around.skills)
    known = tuple(name for name in bound_servers(bindings, skills) if name in settings.mcp.servers)
    return CheckedBindings(bindings, known, skills)


def _check_model(home: Home, settings: Settings, bindings: Bindings, findings: Findings) -> None:
    """That it exists. Whether its key is set is told by the process that makes the runs."""
    name = bindings.model
    if name in ("", REHEARSAL) or name.partition("/")[0] in plugin_model_providers(home, settings):
        return
    try:
        resolve_model(settings, {}, name, folder=home.root)
    except (NotFound, ScriptError) as error:
        findings.add(MODEL_UNKNOWN, bindings.model_at, error.message, error.hint)
    except ColleagueError:
        return


def check_own_runs(preflight: Preflight, expert: str, bindings: Bindings, findings: Findings) -> None:
    """Of an enabled expert, in the process that makes its runs: that they have a model, and its key."""
    try:
        preflight.check_own_runs(expert)
    except CannotStart as error:
        if MODEL_UNKNOWN not in {each.code for each in findings}:
            findings.add("model-unusable", bindings.model_at, f"its runs fail: {error.message}", error.hint)


def check_expert_triggers(
    home: Home,
    expert: Expert,
    settings: Settings,
    environ: Mapping[str, str],
    probed: Sequence[Probed],
    findings: Findings,
    *,
    passed_over: Collection[tuple[str, str]] = (),
) -> None:
    """What keeps a trigger from working. What was said of its tool is not said again.

    `passed_over` are those whose variables are set elsewhere: for the gateway that runs."""
    try:
        bound_triggers = bind_triggers(expert)
    except ColleagueError:
        return
    said = {each.code for each in findings.errors} & TOOL_TROUBLE
    channels = plugin_channels(home, settings)
    for each in bound_triggers:
        found = trigger_problems(each, settings, environ, channels) + served_problems(each, settings, probed)
        for problem in found:
            if problem.code == UNSET and each.key in passed_over:
                continue
            if problem.code not in _SAID_OF_TOOLS or not said:
                findings.add(problem.code, problem.at, problem.message, problem.cure)
