"""Editing the user's bindings.yaml: comments and order stay."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from colleague.errors import BindingsError, NotFound, UsageError
from colleague.experts.expert import Expert
from colleague.files import write_atomic
from colleague.packages.finding import Findings
from colleague.packages.package import Package
from colleague.packages.trigger import asked_operations
from colleague.suggest import did_you_mean

_HEADER = "# Which server or skill provides each tool of this expert. This file is yours; updates keep it.\n"


def bind_tool(
    expert: Expert,
    package: Package,
    tool: str,
    server: str,
    *,
    skill: bool,
    operations: Mapping[str, str],
) -> None:
    """Points `tool` at `server`. What else the user wrote about the tool stays."""
    _require_known(package, tool, operations)
    document = _read(expert)
    tools = document.setdefault("tools", {})
    if not isinstance(tools, dict):
        raise BindingsError(
            f"{expert.bindings_file}: tools must be a mapping", hint="correct it, then bind again"
        )
    before = tools.get(tool)
    entry = before if isinstance(before, dict) else {}
    entry["type"] = "skill" if skill else "mcp"
    entry["server"] = server
    if operations:
        entry.setdefault("operations", {}).update(operations)
    tools[tool] = entry
    _write(expert, document)


def set_bindings(expert: Expert, values: Mapping[str, Any]) -> None:
    """Sets whole entries of the file, which nobody but its owner may read then: one may be a secret."""
    document = _read(expert)
    document.update(values)
    _write(expert, document)
    expert.bindings_file.chmod(0o600)


def unbind_tool(expert: Expert, tool: str) -> None:
    document = _read(expert)
    tools = document.get("tools")
    if not isinstance(tools, dict) or tool not in tools:
        bound = tools if isinstance(tools, dict) else {}
        raise NotFound(
            f"{expert.name} has no binding for {tool!r}",
            hint=did_you_mean(tool, map(str, bound)) or f"bound: {', '.join(map(str, bound)) or 'nothing'}",
        )
    del tools[tool]
    _write(expert, document)


def _require_known(package: Package, tool: str, operations: Mapping[str, str]) -> None:
    required = package.manifest.requires_tools
    asked = asked_operations(package.triggers, tool)
    if tool not in required and not asked:
        hint = did_you_mean(tool, required) or f"it needs: {', '.join(required) or 'no tools'}"
        raise NotFound(f"{package.name} does not need a tool {tool!r}", hint=hint)
    described = package.tool(tool)
    known = [operation.name for operation in described.operations] if described else []
    for operation in operations:
        if known and operation not in (*known, *asked):
            hint = did_you_mean(operation, known) or f"operations: {', '.join(known)}"
            raise UsageError(f"{tool} has no operation {operation!r}", hint=hint)


def _yaml() -> Any:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _read(expert: Expert) -> Any:
    from ruamel.yaml.error import YAMLError

    from colleague.experts.bindings import read_bindings

    file = expert.bindings_file
    if not file.exists():
        return {}
    findings = Findings()
    read_bindings(file, findings)
    if findings.errors:
        raise BindingsError(f"{file}: {findings.errors[0]}", hint="correct it, then bind again")
    try:
        return _yaml().load(file.read_text(encoding="utf-8-sig")) or {}
    except YAMLError as error:
        raise BindingsError(f"{file} cannot be edited: {error}", hint="correct it, then bind again") from None


def _write(expert: Expert, document: Any) -> None:
    text = io.StringIO()
    _yaml().dump(document, text)
    fresh = "" if expert.bindings_file.exists() else _HEADER
    write_atomic(expert.bindings_file, fresh + text.getvalue())
