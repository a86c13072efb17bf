"""Templates of the files an expert reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.markdown import read_markdown, stem
from colleague.packages.parsed import Parsed
from colleague.packages.part_name import part_name

Scope = Literal["persistent", "session"]


@dataclass(frozen=True)
class StateTemplate(Parsed):
    """`text` is the whole file, as it is copied to the workspace."""

    path: str
    name: str
    text: str
    description: str = ""
    scope: Scope = "persistent"


def read_state_template(folder: PackageFolder, path: str, at: Mark) -> StateTemplate | None:
    file = read_markdown(folder, path, at, "a state file")
    if file is None:
        return None
    fields = file.fields
    template = StateTemplate(
        at=Mark(path),
        node=fields.node,
        path=path,
        name=part_name(fields, required=False) or stem(path),
        text=file.text,
        description=fields.text("description"),
        scope=cast(Scope, fields.choice("scope", ("persistent", "session"), "persistent")),
    )
    fields.finish()
    return template
