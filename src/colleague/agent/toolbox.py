"""The tools of one run, and the checks on what a model wants of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from colleague.agent.argument_names import with_known_names, without_nulls
from colleague.agent.tool import Tool, ToolSpec
from colleague.argument_check import misfits
from colleague.store.call_target import CallTarget
from colleague.suggest import did_you_mean

MOST_NESTED = 100


class BadArguments(Exception):
    """The arguments do not fit; the message is for the model."""


class Toolbox:
    """Tools by the name the model uses; of two with one name the first counts. `withheld` has those that may
    not be used, each with the reason."""

    def __init__(self, tools: Iterable[Tool], withheld: Mapping[str, str] | None = None) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._tools.setdefault(tool.spec.name, tool)
        self._withheld = withheld or {}

    def with_tools(self, tools: Iterable[Tool]) -> Toolbox:
        """With these tools, and the same withheld."""
        return Toolbox(tools, self._withheld)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @cached_property
    def specs(self) -> list[ToolSpec]:
        return [tool.spec for tool in self._tools.values()]

    def unknown(self, name: str) -> str:
        """What to tell a model that asks for a tool there is not, or that it may not use."""
        if name in self._withheld:
            return f"{name} may not be used here: {self._withheld[name]}"
        hint = did_you_mean(name, self._tools) or f"there are: {', '.join(self._tools) or 'none'}"
        return f"there is no tool {name!r}; {hint}"


def checked_arguments(spec: ToolSpec, raw: str | dict[str, Any] | None) -> dict[str, Any]:
    """The arguments as a dict that fits the tool's own schema, whatever form of it the model was shown.

    Raises BadArguments with every reason, and what the tool takes."""
    given = decoded_arguments(raw)
    if not misfits(spec.parameters, given):
        return given
    arguments: dict[str, Any] = without_nulls(spec.parameters, with_known_names(spec.parameters, given))
    problems = misfits(spec.parameters, arguments)
    if problems:
        takes = signature(spec.parameters)
        raise BadArguments(f"the arguments of {spec.name} do not fit: {'; '.join(problems)}. {takes}")
    return arguments


def signature(schema: dict[str, Any]) -> str:
    """What a tool takes, in one sentence for a model."""
    required = schema.get("required") or ()
    names = [f"{name}{'' if name in required else ' (optional)'}" for name in schema.get("properties") or ()]
    return f"It takes {', '.join(names)}; call it again with these." if names else "It takes no arguments."


def decoded_arguments(raw: str | dict[str, Any] | None) -> dict[str, Any]:
    """What a model wrote, as a dict that can be stored and shown. Raises BadArguments."""
    if isinstance(raw, dict):
        return raw
    try:
        arguments = json.loads(raw or "{}")
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeError:
        raise BadArguments("the arguments have half a character in them; write it out") from None
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the arguments are no JSON that can be used: {error}") from None
    if not isinstance(arguments, dict):
        raise BadArguments("the arguments must be a JSON object")
    if _is_deep(arguments):
        raise BadArguments(f"the arguments are nested more than {MOST_NESTED} levels deep")
    return arguments


def _is_deep(arguments: dict[str, Any]) -> bool:
    level: list[Any] = [arguments]
    for _ in range(MOST_NESTED):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def digest_of(owner: str, package_digest: str, spec: ToolSpec, arguments: dict[str, Any]) -> str:
    """What a person decides on: who, which package, which server and how it is started or reached, which
    tool, which schema, which arguments."""
    launch = [spec.launch_digest] if spec.launch_digest else []
    tool = [spec.name, spec.server, *launch, spec.server_tool, spec.parameters]
    return _digest([owner, package_digest, *tool, arguments])


def target_of(package_digest: str, spec: ToolSpec) -> CallTarget:
    """The same without the arguments, in parts: what a grant is bound to."""
    schema = _digest(spec.parameters)
    return CallTarget(spec.server, spec.server_tool, spec.launch_digest, schema, package_digest)


def _digest(seen: Any) -> str:
    return hashlib.sha256(json.dumps(seen, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
