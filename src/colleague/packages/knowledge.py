"""Reference material of an expert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.packages.folder import PackageFolder
from colleague.packages.mark import Mark
from colleague.packages.markdown import read_markdown, stem
from colleague.packages.parsed import Parsed
from colleague.packages.part_name import part_name

KnowledgeType = Literal["static", "dynamic", "private"]


@dataclass(frozen=True)
class Knowledge(Parsed):
    """One knowledge file; its text is read on demand."""

    path: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    type: KnowledgeType = "static"

    @property
    def private(self) -> bool:
        """Private knowledge stands in no index, summary, log or answer that leaves the runtime."""
        return self.type == "private"


def read_knowledge(folder: PackageFolder, path: str, at: Mark) -> Knowledge | None:
    file = read_markdown(folder, path, at, "a knowledge file")
    if file is None:
        return None
    fields = file.fields
    knowledge = Knowledge(
        at=Mark(path),
        node=fields.node,
        path=path,
        name=part_name(fields, required=False) or stem(path),
        description=fields.text("description"),
        tags=fields.texts("tags"),
        type=cast(KnowledgeType, fields.choice("type", ("static", "dynamic", "private"), "static")),
    )
    fields.finish()
    return knowledge
