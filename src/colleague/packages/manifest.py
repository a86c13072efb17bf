"""expert.yaml: the package's index and its defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from colleague.packages.concurrency import Concurrency, read_concurrency
from colleague.packages.delivery import Delivery, read_delivery
from colleague.packages.execution import Execution, read_execution
from colleague.packages.fields import Fields
from colleague.packages.folder import PackageFolder
from colleague.packages.learning import Learning, read_learning
from colleague.packages.mark import Mark
from colleague.packages.names import MANIFEST
from colleague.packages.nodes import Mapping, NodeError, Scalar, parse
from colleague.packages.parsed import Parsed
from colleague.packages.part_name import require_no_path
from colleague.packages.policy import Policy, read_policy
from colleague.packages.reserved import name_problem
from colleague.packages.trigger import Trigger, read_trigger

Listed = list[tuple[str, Mark]]

LISTS = ("persona", "functions", "processes", "tools", "knowledge", "state")
_NUMBER = r"(?:0|[1-9][0-9]*)"
_LABEL = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = (
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
"""As semver.org has it; the library for it takes longer to import than a list of experts to print."""
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,56}")


@dataclass(frozen=True)
class Components:
    """Paths of the package's files, with the place that lists each."""

    orchestrator: tuple[str, Mark] | None
    lists: dict[str, Listed]


@dataclass(frozen=True)
class Manifest(Parsed):
    """The whole of expert.yaml, typed."""

    spec: str
    name: str
    version: str
    description: str
    components: Components
    author: str = ""
    license: str = ""
    requires_tools: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    concurrency: Concurrency = Concurrency()
    execution: Execution = Execution()
    delivery: Delivery = Delivery()
    learning: Learning = Learning()
    policy: Policy = field(default_factory=Policy)
    triggers: tuple[Trigger, ...] = ()


def read_manifest(folder: PackageFolder) -> Manifest | None:
    """None, with findings, when there is nothing to go on with."""
    text = folder.read(MANIFEST, Mark(MANIFEST), missing="manifest-missing")
    if text is None:
        return None
    try:
        node = parse(text, MANIFEST)
    except NodeError as error:
        folder.findings.add(error.code, error.at, error.message, error.hint)
        return None
    fields = Fields(node, "the manifest", folder.findings, Mark(MANIFEST))
    manifest = _read(fields)
    fields.finish()
    return manifest


def _read(fields: Fields) -> Manifest:
    concurrency = _read_defaults(fields.child("concurrency"))
    return Manifest(
        at=Mark(MANIFEST),
        node=fields.node,
        spec=_read_spec(fields),
        name=_read_name(fields),
        version=_read_version(fields),
        description=fields.required_text("description"),
        components=_read_components(fields),
        author=_read_author(fields),
        license=fields.text("license"),
        requires_tools=_read_tools(fields.child("requires")),
        outputs=fields.texts("outputs"),
        concurrency=concurrency,
        execution=read_execution(fields.child("execution"), Execution()),
        delivery=read_delivery(fields.child("delivery"), Delivery()),
        learning=read_learning(fields.child("learning")),
        policy=read_policy(fields.child("policy")),
        triggers=_read_triggers(fields, concurrency),
    )


def _read_tools(requires: Fields) -> tuple[str, ...]:
    named = requires.marked_texts("tools")
    for name, at in named:
        require_no_path(name, at, requires.findings)
    return tuple(name for name, _ in named)


def _read_spec(fields: Fields) -> str:
    spec = fields.required_text("spec")
    major, _, minor = spec.removeprefix("v").partition(".")
    if spec and major != "1":
        message = f"the package follows spec {spec[:20]!r}; this version reads 1.0"
        fields.findings.add("spec-unsupported", fields.mark("spec"), message, 'write spec: "1.0"')
    elif minor.partition(".")[0] not in ("", "0"):
        message = f"the package follows spec {spec[:20]!r}; what is new since 1.0 is ignored"
        fields.findings.add("spec-newer", fields.mark("spec"), message)
    return spec


def _read_name(fields: Fields) -> str:
    name = fields.required_text("name")
    if not require_no_path(name, fields.mark("name"), fields.findings):
        return name
    if name and not _PLAIN_NAME.fullmatch(name):
        message = f"{name[:60]!r} is hard to type as a name"
        hint = f"use small letters, digits and dashes, such as {folder_name(name)}"
        fields.findings.add("name-awkward", fields.mark("name"), message, hint)
    if problem := name_problem(folder_name(name)):
        hint = "rename it, or install it with --name"
        fields.findings.add("name-awkward", fields.mark("name"), problem, hint)
    return name


def folder_name(name: str) -> str:
    """The name under which a package is installed: `Sales Expert!` becomes `sales-expert`."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:57]
    return plain or "expert"


def _read_version(fields: Fields) -> str:
    version = fields.required_text("version")
    if version and not re.fullmatch(_SEMVER, version):
        message = f"version {version[:40]!r} is not SemVer, so every update will need --force"
        fields.findings.add("version-not-semver", fields.mark("version"), message, "write it as 1.2.3")
    return version


def _read_author(fields: Fields) -> str:
    """A name or, as some write it, a mapping or a list of them."""
    node = fields.node.entries.get("author") if fields.node else None
    fields.ignore("author", "authors", "homepage", "repository", "keywords", "tags")
    if isinstance(node, Mapping) and isinstance(name := node.entries.get("name"), Scalar):
        return str(name.value or "")
    return fields.text("author") if isinstance(node, Scalar) else ""


def _read_defaults(fields: Fields) -> Concurrency:
    concurrency = read_concurrency(fields, "default", "key", Concurrency())
    fields.finish()
    return concurrency


def _read_triggers(fields: Fields, inherited: Concurrency) -> tuple[Trigger, ...]:
    found = [read_trigger(node, inherited, fields.findings) for node in fields.items("triggers")]
    return tuple(trigger for trigger in found if trigger is not None)


def _read_components(fields: Fields) -> Components:
    if not fields.has("components"):
        fields.findings.add(
            "field-missing", fields.at, "the manifest has no components", "add components: ..."
        )
    part = fields.child("components")
    path = part.text("orchestrator")
    orchestrator = (path, part.mark("orchestrator")) if path else None
    components = Components(orchestrator, {name: part.marked_texts(name) for name in LISTS})
    part.finish()
    if fields.has("components"):
        _require(part, components)
    return components


def _require(part: Fields, components: Components) -> None:
    if components.orchestrator is None:
        message = "components names no orchestrator"
        part.findings.add("orchestrator-missing", part.at, message, "add orchestrator: orchestrator.md")
    if not components.lists["persona"]:
        hint = "add persona: [persona/identity.md]"
        part.findings.add("persona-missing", part.at, "components lists no persona", hint)
    if not components.lists["functions"]:
        hint = "add functions: [functions/....md]"
        part.findings.add("function-missing", part.at, "components lists no function", hint)
