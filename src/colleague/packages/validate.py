"""Phase 1: what one file of a package says about another."""

from __future__ import annotations

from collections.abc import Iterator

from colleague.packages.finding import Findings
from colleague.packages.folder import PackageFolder, normal_path
from colleague.packages.function import Function
from colleague.packages.manifest import LISTS
from colleague.packages.mark import Mark
from colleague.packages.markdown import read_markdown, stem
from colleague.packages.names import BINDINGS, LINK, MANIFEST
from colleague.packages.package import Package
from colleague.packages.policy import Override, looser
from colleague.packages.process import Process
from colleague.packages.reference import check_references
from colleague.packages.trigger import Trigger
from colleague.suggest import did_you_mean


def check_package(package: Package, findings: Findings, *, installed: bool) -> None:
    """Every rule that needs more than one file. In an installed folder bindings.yaml is the user's."""
    if not installed:
        _check_no_bindings(package, findings)
    _check_files(package, findings)
    for trigger in package.triggers:
        _check_trigger(trigger, package, findings)
    _check_trigger_names(package, findings)
    check_references(package, findings)
    for override in package.manifest.policy.approval.overrides.values():
        _check_override(override, package, findings)
    _check_tool_files(package, findings)
    for function in package.functions:
        _check_function(function, package, findings)
    for process in package.processes:
        _check_process(process, package, findings)
    _check_learnings(package, findings)


def _check_no_bindings(package: Package, findings: Findings) -> None:
    """In any letter case: some disks do not tell them apart."""
    for name in sorted(each.name for each in package.root.iterdir()):
        if name.lower() == BINDINGS:
            message = f"the package ships {name}, which would set its own policy"
            findings.add("bindings-shipped", Mark(name), message, f"remove {name} from the package")
        elif name.lower() == LINK and name != LINK:
            message = f"the package ships {name}, which would point to another folder"
            findings.add("link-shipped", Mark(name), message, f"remove {name} from the package")


def _check_files(package: Package, findings: Findings) -> None:
    paths = {entry.path for entry in package.entries}
    if "README.md" not in paths:
        findings.add(
            "readme-missing", Mark(MANIFEST), "the package has no README.md", "tell people what it is for"
        )
    components = package.manifest.components
    listed = {normal_path(path) for files in components.lists.values() for path, _ in files}
    if components.orchestrator:
        listed.add(normal_path(components.orchestrator[0]))
    for path in sorted(paths - listed):
        if _is_component(path):
            message = f"{path} is not listed in components, so it is not used"
            findings.add("component-unlisted", Mark(path), message, f"add it to components in {MANIFEST}")


def _is_component(path: str) -> bool:
    top, _, rest = path.partition("/")
    return top in LISTS and rest.endswith((".md", ".yaml", ".yml")) and stem(path).lower() != "readme"


def _check_trigger_names(package: Package, findings: Findings) -> None:
    first: dict[str, Trigger] = {}
    for trigger in package.triggers:
        if trigger.name in first:
            message = (
                f"trigger {trigger.name[:60]!r} stands twice, first on line {first[trigger.name].at.line}"
            )
            findings.add("name-duplicate", trigger.mark("name"), message, "rename one of them")
        first.setdefault(trigger.name, trigger)


def _check_trigger(trigger: Trigger, package: Package, findings: Findings) -> None:
    process = package.process(trigger.process)
    if process is None and trigger.process:
        message = f"trigger {trigger.name!r} starts process {trigger.process!r}, which does not exist"
        hint = did_you_mean(trigger.process, (each.name for each in package.processes))
        findings.add("trigger-process-unknown", trigger.mark("process"), message, hint or "add the process")
    inputs = {each.name for each in process.inputs} if process else set()
    for name in trigger.payload_mapping:
        if process and name not in inputs:
            message = f"payload_mapping fills {name!r}, which is no input of {process.name!r}"
            hint = did_you_mean(name, inputs) or f"add the input to {process.path}"
            findings.add("payload-input-unknown", trigger.mark("payload_mapping", name), message, hint)
    if trigger.requires_tool and trigger.requires_tool not in package.manifest.requires_tools:
        message = f"requires_tool {trigger.requires_tool!r} is not in requires.tools"
        findings.add("trigger-tool-not-required", trigger.mark("requires_tool"), message, "add it there")


def _check_override(override: Override, package: Package, findings: Findings) -> None:
    tool_name, dot, operation_name = override.operation.partition(".")
    if not (tool_name and dot and operation_name):
        message = f"override {override.operation[:60]!r} is not written as tool.operation"
        findings.add("override-malformed", override.at, message, "write it as crm.get_contact")
        return
    tool = package.tool(tool_name)
    if tool is None and tool_name not in package.manifest.requires_tools:
        message = f"override {override.operation!r} is for a tool that is not in requires.tools"
        hint = did_you_mean(tool_name, package.manifest.requires_tools) or f"add {tool_name} there"
        findings.add("override-tool-unknown", override.at, message, hint)
    elif tool is not None:
        operation = tool.operation(operation_name)
        if operation is None:
            message = f"override {override.operation!r} names no operation of {tool.path}"
            hint = (
                did_you_mean(operation_name, (each.name for each in tool.operations))
                or "declare the operation"
            )
            findings.add("override-operation-unknown", override.at, message, hint)
        elif operation.documented_tier == "manual" and looser(override.tier, "manual"):
            message = f"{override.operation} is {override.tier} here, but {tool.path} marks it manual"
            findings.add("override-loosens-manual", override.at, message, "make sure that this is meant")


def _check_tool_files(package: Package, findings: Findings) -> None:
    described = {tool.name for tool in package.tools}
    for index, name in enumerate(package.manifest.requires_tools):
        if name not in described:
            at = package.manifest.mark("requires", "tools", index)
            message = f"tool {name!r} has no file in tools/, so its operations are unknown"
            findings.add(
                "tool-undescribed", at, message, f"add tools/{name}.yaml and list it in components.tools"
            )


def _check_tools(item: Function | Process, package: Package, findings: Findings) -> None:
    for index, name in enumerate(item.tools):
        if name not in package.manifest.requires_tools:
            message = f"{item.name!r} uses tool {name!r}, which is not in requires.tools"
            hint = (
                did_you_mean(name, package.manifest.requires_tools)
                or f"add {name} to requires.tools in {MANIFEST}"
            )
            findings.add("tool-not-required", item.mark("tools", index), message, hint)


def _check_function(function: Function, package: Package, findings: Findings) -> None:
    _check_tools(function, package, findings)
    listed = {normal_path(path) or path for path, _ in package.manifest.components.lists["knowledge"]}
    known = listed | {item.name for item in package.knowledge}
    for index, path in enumerate(function.knowledge):
        if path not in known and normal_path(path) not in known:
            message = f"{function.name!r} lists knowledge {path[:80]!r}, which is not in components.knowledge"
            hint = did_you_mean(path, known) or f"list it in components in {MANIFEST}"
            findings.add("function-knowledge-unknown", function.mark("knowledge", index), message, hint)


def _check_process(process: Process, package: Package, findings: Findings) -> None:
    _check_tools(process, package, findings)
    triggers = [trigger.name for trigger in package.triggers]
    if process.trigger and process.trigger not in triggers:
        message = f"{process.name!r} names trigger {process.trigger[:60]!r}, which does not exist"
        hint = did_you_mean(process.trigger, triggers) or f"add the trigger to {MANIFEST}"
        findings.add("process-trigger-unknown", process.mark("trigger"), message, hint)
    functions = [function.name for function in package.functions]
    for index, name in enumerate(process.functions):
        if name not in functions:
            message = f"{process.name!r} lists function {name[:60]!r}, which does not exist"
            hint = did_you_mean(name, functions) or f"list its file in components in {MANIFEST}"
            findings.add("process-function-unknown", process.mark("functions", index), message, hint)
    _check_context(process, package, findings)
    _check_scratchpad(process, findings)
    _check_steps(process, findings)


def _check_context(process: Process, package: Package, findings: Findings) -> None:
    known = {entry.path for entry in package.entries}
    for index, path in enumerate(process.context):
        clean = normal_path(path)
        at = process.mark("context", index)
        if clean is None:
            message = f"context {path[:80]!r} leads out of the package"
            findings.add("path-outside-package", at, message, "use a path such as state/pipeline.md")
        elif clean not in known and "{" not in clean and not clean.startswith(("scratch/", "learnings/")):
            hint = did_you_mean(clean, known) or "add the file or correct the path"
            findings.add("context-file-unknown", at, f"context {path[:80]!r} does not exist", hint)


def _check_scratchpad(process: Process, findings: Findings) -> None:
    if not process.scratchpad:
        return
    at = process.mark("scratchpad")
    clean = normal_path(process.scratchpad)
    if clean is None or not clean.startswith("scratch/"):
        message = f"scratchpad {process.scratchpad[:80]!r} is not inside scratch/"
        findings.add("scratchpad-outside", at, message, "write it as ./scratch/name-{input}.md")
    inputs = [each.name for each in process.inputs]
    for name in process.placeholders:
        if name not in inputs:
            message = f"scratchpad placeholder {{{name[:60]}}} is no input of {process.name!r}"
            findings.add(
                "scratchpad-placeholder-unknown", at, message, did_you_mean(name, inputs) or "add the input"
            )


def _check_steps(process: Process, findings: Findings) -> None:
    if not process.steps and process.execution.resume_from_execution_log:
        message = f"{process.name!r} is to be resumed but has no checklist"
        findings.add("checklist-missing", process.at, message, "write its steps as '- [ ] ...'")
    for step in process.steps:
        for name in step.undeclared:
            message = f"a step names `{name}`, which no tool file declares"
            findings.add(
                "step-operation-undeclared", step.at, message, "declare the operation, or correct the name"
            )


def _check_learnings(package: Package, findings: Findings) -> None:
    for path in _learnings(package):
        message = f"{path} is shipped with the package"
        findings.add("learnings-shipped", Mark(path), message, "leave learnings/ out of the package")
        check_learnings_scope(PackageFolder(package.root, findings), path, package)


def _learnings(package: Package) -> Iterator[str]:
    for entry in package.entries:
        if entry.path.startswith("learnings/") and entry.path.endswith(".md"):
            yield entry.path


def check_learnings_scope(folder: PackageFolder, path: str, package: Package) -> None:
    """A learnings file is for the package or for one function."""
    file = read_markdown(folder, path, Mark(path), "a learnings file")
    if file is None or not file.fields.has("scope"):
        return
    scope = file.fields.text("scope").removeprefix("function:").strip()
    functions = [function.name for function in package.functions]
    if scope not in ("package", *functions):
        message = f"scope {scope[:60]!r} is neither package nor a function"
        hint = did_you_mean(scope, functions) or "write scope: package"
        folder.findings.add("learning-scope-unknown", file.fields.mark("scope"), message, hint)
