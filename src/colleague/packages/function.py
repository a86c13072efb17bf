"""A function: one capability of an expert, read on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.packages.fields import Fields
from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.markdown import Markdown, read_markdown, stem
from colleague.packages.parameter import Parameter, read_parameters
from colleague.packages.parsed import Parsed
from colleague.packages.part_name import part_name

FunctionSession = Literal["inline", "isolated"]


@dataclass(frozen=True)
class Function(Parsed):
    """The frontmatter and body of a function file."""

    path: str
    name: str
    description: str
    body: str
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    tools: tuple[str, ...] = ()
    knowledge: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session: FunctionSession = "inline"


def read_function(folder: PackageFolder, path: str, at: Mark) -> Function | None:
    file = read_markdown(folder, path, at, "a function")
    if file is None or not require_head(file, folder):
        return None
    fields = file.fields
    function = Function(
        at=Mark(path),
        node=fields.node,
        path=path,
        name=named(fields, path),
        description=fields.required_text("description"),
        body=file.body,
        inputs=read_parameters(fields, "inputs"),
        outputs=read_parameters(fields, "outputs"),
        tools=fields.texts("tools"),
        knowledge=fields.texts("knowledge"),
        tags=fields.texts("tags"),
        session=cast(FunctionSession, fields.choice("session", ("inline", "isolated"), "inline")),
    )
    fields.finish()
    return function


def require_head(file: Markdown, folder: PackageFolder) -> bool:
    """Functions and processes need frontmatter; a broken one has been reported already."""
    if not file.has_head:
        hint = "begin the file with ---, name, description, ---"
        folder.findings.add("frontmatter-missing", Mark(file.path), f"{file.path} has no frontmatter", hint)
    return file.fields.node is not None


def named(fields: Fields, path: str) -> str:
    return part_name(fields) or stem(path)
