"""A process: a playbook with a checklist."""

from __future__ import annotations

import re
from dataclasses import dataclass

from colleague.packages.checklist import Step, Vocabulary, read_steps
from colleague.packages.delivery import Delivery, read_delivery
from colleague.packages.execution import Execution, read_execution
from colleague.packages.folder import PackageFolder
from colleague.packages.function import named, require_head
from colleague.packages.mark import Mark
from colleague.packages.markdown import read_markdown
from colleague.packages.parameter import Parameter, read_parameters
from colleague.packages.parsed import Parsed

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Process(Parsed):
    """`execution` and `delivery` are what counts: the package's, overridden field by field."""

    path: str
    name: str
    description: str
    body: str
    execution: Execution
    delivery: Delivery
    steps: tuple[Step, ...] = ()
    trigger: str = ""
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    functions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    scratchpad: str = ""
    tags: tuple[str, ...] = ()
    context: tuple[str, ...] = ()

    @property
    def placeholders(self) -> tuple[str, ...]:
        return tuple(_PLACEHOLDER.findall(self.scratchpad))


@dataclass(frozen=True)
class Inherited:
    """What a process takes from its package."""

    execution: Execution
    delivery: Delivery
    vocabulary: Vocabulary


def read_process(folder: PackageFolder, path: str, at: Mark, inherited: Inherited) -> Process | None:
    file = read_markdown(folder, path, at, "a process")
    if file is None or not require_head(file, folder):
        return None
    fields = file.fields
    process = Process(
        at=Mark(path),
        node=fields.node,
        path=path,
        name=named(fields, path),
        description=fields.required_text("description"),
        body=file.body,
        execution=read_execution(fields.child("execution"), inherited.execution),
        delivery=read_delivery(fields.child("delivery"), inherited.delivery),
        steps=read_steps(file.body, path, file.body_line, inherited.vocabulary),
        trigger=fields.text("trigger"),
        inputs=read_parameters(fields, "inputs"),
        outputs=read_parameters(fields, "outputs"),
        functions=fields.texts("functions"),
        tools=fields.texts("tools"),
        scratchpad=fields.text("scratchpad"),
        tags=fields.texts("tags"),
        context=fields.texts("context"),
    )
    fields.finish()
    return process
