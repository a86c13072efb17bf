"""Imports point downwards only, and reading a package stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SOURCE = REPOSITORY / "src"

ROOMS = (
    *(
        "cli",
        "gateway",
        "runtime",
        "plugins",
        "channels",
        "triggers",
        "experts",
        "sessions",
        "agent",
        "mcp",
        "sandbox",
        "skills",
        "store",
        "packages",
        "hooks",
    ),
    "root",
)
ROOT_FOR_PACKAGES = {
    *("colleague.duration", "colleague.errors", "colleague.failpoints", "colleague.files"),
    *("colleague.main_names", "colleague.shortage", "colleague.suggest"),
}
HEAVY = {"pydantic_ai", "mcp", "starlette", "procrastinate", "pydantic", "rich", "ruamel"}


@dataclass(frozen=True)
class Import:
    """One import of one of our modules by another; `lazy` when it stands inside a function."""

    importer: str
    imported: str
    line: int
    lazy: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules() -> list[str]:
    return sorted(module_name(path) for path in (SOURCE / "colleague").rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The folder under colleague. Modules in no folder are in the root, and so is config."""
    if module == "colleague.__main__":
        return "cli"
    name = module.partition(".")[2].partition(".")[0]
    is_folder = bool(name) and (SOURCE / "colleague" / name).is_dir()
    return name if is_folder and name != "config" else "root"


def imports() -> list[Import]:
    found: list[Import] = []
    for path in (SOURCE / "colleague").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        in_function = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            for name in imported_names(node):
                found.append(Import(module_name(path), name, node.lineno, id(node) in in_function))
    return found


def imported_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: imports are written in full"
        names = [submodule(str(node.module), alias.name) for alias in node.names]
    else:
        names = []
    return (name for name in names if name == "colleague" or name.startswith("colleague."))


def submodule(module: str, name: str) -> str:
    """`from colleague.packages import cron` imports `colleague.packages.cron`."""
    path = SOURCE / Path(*module.split(".")) / name
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else module


def is_allowed(each: Import) -> bool:
    here, there = room_of(each.importer), room_of(each.imported)
    if here == "packages" and there == "root":
        return each.imported in ROOT_FOR_PACKAGES
    return ROOMS.index(here) <= ROOMS.index(there)


def test_every_room_has_its_place() -> None:
    assert {room_of(module) for module in modules()} - set(ROOMS) == set()


def test_imports_point_downwards() -> None:
    assert [str(each) for each in imports() if not is_allowed(each)] == []


@pytest.mark.parametrize(
    ("importer", "imported", "lazy", "allowed"),
    [
        ("colleague.cli.main", "colleague.packages.package", False, True),
        ("colleague.packages.package", "colleague.cli.main", True, False),
        ("colleague.packages.cron", "colleague.packages.nodes", False, True),
        ("colleague.packages.staging", "colleague.files", False, True),
        ("colleague.packages.staging", "colleague.home", False, False),
        ("colleague.home", "colleague.files", False, True),
        ("colleague.packages.cron", "colleague.duration", False, True),
        ("colleague.home", "colleague.packages.cron", True, False),
        ("colleague.experts.expert", "colleague.home", False, True),
        ("colleague.__main__", "colleague.cli.main", False, True),
    ],
)
def test_the_rule_itself(importer: str, imported: str, lazy: bool, allowed: bool) -> None:
    assert is_allowed(Import(importer, imported, 1, lazy)) is allowed


def test_the_imports_are_really_found() -> None:
    found = {(each.importer, each.imported, each.lazy) for each in imports()}
    assert ("colleague.packages.package", "colleague.packages.digest", False) in found
    assert ("colleague.packages.package", "colleague.packages.validate", True) in found


READ_EXAMPLE = """
import sys
from pathlib import Path
from colleague.packages.package import read_package
reading = read_package(Path(sys.argv[1]))
assert reading.package is not None and reading.findings.ok
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_reading_a_package_imports_nothing_heavy() -> None:
    example = REPOSITORY / "examples" / "radiant-sales-expert"
    command = [sys.executable, "-c", READ_EXAMPLE, str(example)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "colleague" in loaded
    assert HEAVY & set(loaded) == set()
