"""Which keys of the settings the code reads, as mypy sees it: by the class that owns the key, not by name."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mypy.build import build
from mypy.modulefinder import BuildSource
from mypy.options import Options
from mypy.plugin import AttributeContext, MethodSigContext, Plugin
from mypy.types import FunctionLike, Type

import colleague

SOURCE = Path(colleague.__file__).parents[1]
MODELS = SOURCE / "colleague" / "config"

Name = tuple[str, str]
"""Class and attribute."""


class Read(NamedTuple):
    name: Name
    file: Path
    line: int


def reads_in(files: dict[str, Path]) -> set[Read]:
    """Every access to an attribute, or call of a method, of a class of the settings, in these modules."""
    options = Options()
    options.python_version = sys.version_info[:2]
    options.mypy_path = [str(SOURCE)]
    options.incremental, options.cache_dir = False, os.devnull
    options.follow_imports, options.ignore_missing_imports = "skip", True  # only our own types matter
    watch = _Watch(options)
    sources = [BuildSource(str(file), module) for module, file in files.items()]
    build(sources, options, extra_plugins=[watch])
    return watch.found


class _Watch(Plugin):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.found: set[Read] = set()

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        def hook(context: AttributeContext) -> Type:
            self._note(fullname, context)
            return context.default_attr_type

        return hook if _is_of_settings(fullname) else None

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        def hook(context: MethodSigContext) -> FunctionLike:
            self._note(fullname, context)
            return context.default_signature

        return hook if _is_of_settings(fullname) else None

    def _note(self, fullname: str, context: AttributeContext | MethodSigContext) -> None:
        _, owner, name = fullname.rsplit(".", 2)
        file = Path(context.api.path)  # type: ignore[attr-defined]
        self.found.add(Read((owner, name), file.resolve(), context.context.line))


def _is_of_settings(fullname: str) -> bool:
    return fullname.startswith("colleague.config.")


@cache
def reads_of_the_code() -> frozenset[Read]:
    return frozenset(reads_in(modules()))


def modules() -> dict[str, Path]:
    files = sorted((SOURCE / "colleague").rglob("*.py"))
    return {_module(file): file for file in files}


def _module(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NO_USE = {
    "gateway/restart_only.py": "compares",
    "mcp/launch_digest.py": "takes a fingerprint",
    "agent/models/model_list.py": "shows",
    "runtime/local_admin.py": "shows",
    "agent/policy/group_rules.py": "acts on the tools of groups, and on nothing else of a channel",
}
"""Files that look at settings without acting on them."""


def used(reads: frozenset[Read]) -> set[Name]:
    """What is read where it has an effect: outside of the models, or in a method of theirs that is used."""
    outside = {each.name for each in reads if _counts(each.file)}
    inside = [(each, _method_around(each)) for each in reads if each.file.parent == MODELS]
    while True:
        more = {each.name for each, method in inside if method in outside} - outside
        if not more:
            return outside
        outside |= more


def _counts(file: Path) -> bool:
    """Loading is a use: what it reads changes what everybody gets."""
    if file.parent == MODELS:
        return file.name == "load.py"
    return str(file.relative_to(SOURCE / "colleague")) not in NO_USE


def _method_around(read: Read) -> Name | None:
    for owner, method, first, last in _methods(read.file):
        if first <= read.line <= last:
            return owner, method
    return None


@cache
def _methods(file: Path) -> list[tuple[str, str, int, int]]:
    return [
        (owner.name, each.name, each.lineno, each.end_lineno or each.lineno)
        for owner in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(owner, ast.ClassDef)
        for each in owner.body
        if isinstance(each, ast.FunctionDef)
    ]
