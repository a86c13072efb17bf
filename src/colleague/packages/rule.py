"""Every rule a package is checked against, with its severity. The reference page is made from this."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning"]
Group = Literal["structure", "references", "bindings", "servers", "state", "triggers"]

RULES: dict[str, tuple[Severity, Group, str]] = {
    # files
    "package-not-found": ("error", "structure", "There is no folder at this path."),
    "package-too-large": ("error", "structure", "The folder holds more files than a package can have."),
    "manifest-missing": ("error", "structure", "The folder has no expert.yaml."),
    "readme-missing": ("warning", "structure", "A package has a README.md for people."),
    "file-unreadable": ("error", "structure", "A file cannot be read."),
    "file-not-utf8": ("error", "structure", "Every file that is read is UTF-8 text."),
    "file-too-large": ("error", "structure", "No file is larger than 10 MB."),
    "file-not-regular": (
        "error",
        "structure",
        "A package holds files and folders only: no pipe, socket or device.",
    ),
    "path-outside-package": ("error", "structure", "A path in the package leads out of it."),
    "link-outside-package": ("error", "structure", "A symbolic link in the package leads out of it."),
    "bindings-shipped": (
        "error",
        "structure",
        "A package ships no bindings.yaml, in any letter case: it would set its own policy.",
    ),
    "link-shipped": (
        "error",
        "structure",
        "A package ships no link.json in another letter case: it would point to another folder.",
    ),
    "pointer-broken": (
        "error",
        "structure",
        "The link.json of a linked expert cannot be read, or does not say where the package is.",
    ),
    "file-lfs-pointer": (
        "error",
        "structure",
        "A file is a Git LFS pointer: the text itself was not fetched.",
    ),
    "learnings-shipped": (
        "warning",
        "structure",
        "Learnings are made at run time, never shipped by the author.",
    ),
    "component-missing": ("error", "structure", "A path in components has no file."),
    "component-unlisted": (
        "warning",
        "structure",
        "A file in a component folder is not listed in components.",
    ),
    "orchestrator-missing": ("error", "structure", "components names no orchestrator."),
    "persona-missing": ("error", "structure", "components lists no persona file."),
    "function-missing": ("error", "structure", "components lists no function file."),
    # YAML and fields
    "yaml-invalid": ("error", "structure", "The YAML cannot be read."),
    "yaml-duplicate-key": ("error", "structure", "A key stands twice in one mapping."),
    "yaml-tag": ("error", "structure", "A YAML tag stands for something else than plain data."),
    "yaml-bomb": ("error", "structure", "The YAML grows, nests or refers to itself without bound."),
    "frontmatter-missing": (
        "error",
        "structure",
        "A function or process begins with frontmatter between --- lines.",
    ),
    "frontmatter-unclosed": ("error", "structure", "Frontmatter ends with a line of ---."),
    "field-missing": ("error", "structure", "A required field is missing."),
    "field-type": ("error", "structure", "A field holds another type than it should."),
    "field-value": ("error", "structure", "A field holds a value outside its list or range."),
    "field-unknown": ("warning", "structure", "A field is not part of the spec; often a typing error."),
    "duration-invalid": ("error", "structure", "A duration is a number and a unit: 30s, 5m, 2h, 1d."),
    "name-duplicate": (
        "warning",
        "structure",
        "Two components of one kind share a name; the first one counts.",
    ),
    "name-path": ("error", "structure", "A name is a path: it has a slash in it, or is . or .."),
    "name-reserved": ("error", "structure", "An installed expert has a name that the runtime itself uses."),
    "name-awkward": ("warning", "structure", "A name is hard to type as a folder or on a command line."),
    "spec-unsupported": (
        "error",
        "structure",
        "The package is written for another major version of the spec.",
    ),
    "spec-newer": ("warning", "structure", "The package is written for a newer minor version of the spec."),
    "version-not-semver": (
        "warning",
        "structure",
        "A version should be SemVer, so that updates can be judged.",
    ),
    "type-unknown": (
        "warning",
        "structure",
        "A type is none of string, number, integer, boolean, object, array.",
    ),
    "rehearsal-field-unknown": (
        "error",
        "structure",
        "A field of rehearsal.yaml is one that no rehearsal reads.",
    ),
    # references
    "trigger-process-unknown": ("error", "references", "A trigger names a process that does not exist."),
    "tool-not-required": ("error", "references", "A tool is used but not listed in requires.tools."),
    "delivery-channel-unknown": (
        "error",
        "references",
        "A delivery or escalation channel is not known here.",
    ),
    "reference-path": (
        "error",
        "references",
        "The name of a trigger, or a reference to a process, trigger, function or tool, is a path.",
    ),
    "process-trigger-unknown": ("warning", "references", "A process names a trigger that does not exist."),
    "process-function-unknown": ("warning", "references", "A process lists a function that does not exist."),
    "function-knowledge-unknown": ("warning", "references", "A function lists knowledge not in components."),
    "context-file-unknown": ("warning", "references", "A process preloads a file the package does not have."),
    "override-malformed": ("warning", "references", "An override key is tool.operation."),
    "override-tool-unknown": ("warning", "references", "An override names a tool that is not required."),
    "override-operation-unknown": ("warning", "references", "An override names an operation its tool lacks."),
    "override-loosens-manual": (
        "warning",
        "references",
        "An override loosens what the tool file marks manual.",
    ),
    "tool-undescribed": (
        "warning",
        "references",
        "A required tool has no file in tools/, so its operations are unknown.",
    ),
    "step-operation-undeclared": (
        "warning",
        "references",
        "A step names an operation no tool file declares.",
    ),
    "scratchpad-placeholder-unknown": ("warning", "references", "A scratchpad placeholder is not an input."),
    "scratchpad-outside": ("error", "references", "A scratchpad lies outside scratch/."),
    "checklist-missing": ("warning", "references", "Resumption needs a checklist of steps."),
    "resume-idempotent": (
        "warning",
        "references",
        "resume_from_execution_log has no effect with idempotent: true.",
    ),
    "rehearsal-name-unknown": (
        "error",
        "references",
        "rehearsal.yaml names a process, function, operation or output that does not exist.",
    ),
    "rehearsal-value": (
        "error",
        "references",
        "A value in rehearsal.yaml is not what the function or process declares.",
    ),
    "learning-scope-unknown": (
        "warning",
        "references",
        "A learnings file's scope is neither package nor a function.",
    ),
    # triggers
    "trigger-expr-missing": ("error", "triggers", "A cron trigger needs expr."),
    "cron-invalid": ("error", "triggers", "A cron expression has 5 fields, or 6 with seconds first."),
    "cron-never-fires": ("warning", "triggers", "A cron expression that matches no date ever."),
    "timezone-unknown": ("error", "triggers", "A time zone is an IANA name such as Europe/Berlin."),
    "payload-path-invalid": ("error", "triggers", "A payload path such as messages[0].id cannot be read."),
    "payload-input-unknown": (
        "warning",
        "triggers",
        "payload_mapping fills an input the process does not have.",
    ),
    "concurrency-key-missing": (
        "warning",
        "triggers",
        "serial_per_key without a key always falls back to serial.",
    ),
    "preset-unknown": ("warning", "triggers", "The preset is not known here, so the trigger stays inactive."),
    "trigger-inactive": ("error", "triggers", "A trigger is inactive until something else is done first."),
    "trigger-secret-missing": ("error", "triggers", "A webhook has no secret, so it refuses every request."),
    "trigger-secret-unset": (
        "error",
        "triggers",
        "The secret of a webhook is in an environment variable that is not set, or empty.",
    ),
    "trigger-secret-unusable": ("error", "triggers", "The secret of a webhook can never fit a request."),
    "trigger-mail-lookup": (
        "error",
        "triggers",
        "The gmail preset has no way to look up mail that Google only announces.",
    ),
    "trigger-channel-unconnected": ("error", "triggers", "Nothing brings messages to a channel trigger."),
    "delivery-channel-unconnected": (
        "error",
        "triggers",
        "What a trigger starts delivers or escalates to a channel that is not connected here.",
    ),
    "trigger-tool-not-required": ("warning", "triggers", "requires_tool names a tool not in requires.tools."),
    # bindings and servers
    "bindings-invalid": ("error", "bindings", "bindings.yaml cannot be used."),
    "tool-unbound": ("error", "bindings", "A required tool has no binding."),
    "binding-tool-unknown": ("warning", "bindings", "A binding is for a tool the package does not require."),
    "binding-operation-unknown": ("warning", "bindings", "A binding maps an operation its tool lacks."),
    "binding-trigger-unknown": ("warning", "bindings", "A binding sets up a trigger the package lacks."),
    "binding-model-unknown": ("warning", "bindings", "Bindings name a model that does not exist."),
    "model-unusable": ("warning", "bindings", "An enabled expert has no model that its runs could use."),
    "not-accepted": (
        "warning",
        "bindings",
        "The package was loosened since a person accepted it; that part does not count yet.",
    ),
    "state-missing": ("warning", "state", "A state file is not in the workspace yet."),
    "state-closed": ("error", "state", "A state file or the learnings may not be read and written."),
    "settings-invalid": ("error", "servers", "colleague.json or openclaw.json cannot be used."),
    "server-unknown": ("error", "servers", "A binding names an MCP server that is not configured."),
    "skill-unknown": ("error", "servers", "A binding names a skill that is not installed."),
    "skill-unusable": (
        "error",
        "servers",
        "A binding names a skill that is broken, switched off, or needs what is not there.",
    ),
    "skill-scripts": (
        "warning",
        "servers",
        "A binding names a skill with scripts, which an expert reads and cannot run.",
    ),
    "skill-operation": (
        "error",
        "servers",
        "A skill allows no tool that carries an operation out.",
    ),
    "server-unreachable": (
        "error",
        "servers",
        "A bound MCP server cannot be started or reached, or does not list its tools.",
    ),
    "operation-missing": ("warning", "servers", "The bound MCP server has no tool for an operation."),
    "operation-shape": (
        "warning",
        "servers",
        "An operation and the server's tool for it differ in their arguments or answers.",
    ),
    "operation-repeatable": (
        "warning",
        "servers",
        "An operation is marked repeatable, which the server does not say of its tool.",
    ),
    "operation-reads": (
        "warning",
        "servers",
        "An operation is marked as reading, and the server says that its tool changes something.",
    ),
    "operation-unhinted": (
        "warning",
        "servers",
        "An operation is named like a question, and nobody says that it only reads.",
    ),
}
