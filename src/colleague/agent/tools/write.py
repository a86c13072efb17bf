"""The tool that writes a whole file."""

from __future__ import annotations

from colleague.agent.tool import ToolSpec
from colleague.agent.tools.arguments import Arguments, parameters, text
from colleague.agent.tools.changing_tool import ChangingTool
from colleague.agent.tools.path import escaped
from colleague.agent.tools.versioned import ChangeRefused, CurrentFile


class WriteTool(ChangingTool):
    """`write`: a new file, or all of an existing one that the run has seen."""

    whole = True

    spec = ToolSpec(
        name="write",
        description=(
            "Writes a whole file, making its folders. An existing file must have been read in whole before; "
            "to change a part of it use edit. Earlier versions are kept."
        ),
        parameters=parameters(
            "path",
            "text",
            path=text("Path in the tree, such as scratch/notes.md"),
            text=text("The whole new content"),
        ),
        repeatable=True,
    )

    def new_data(self, path: str, arguments: Arguments, before: bytes | None) -> bytes:  # noqa: ARG002
        return arguments.text("text").encode()

    def check(self, current: CurrentFile, after: bytes) -> None:
        if current.content is None or current.seen or current.data == after:
            return
        raise ChangeRefused(
            f"{escaped(current.key.path)} exists and this session has not seen its present text, so it was "
            "not replaced. Here it is; work what matters of it into your text and write again, or use edit.",
            current.content,
        )
