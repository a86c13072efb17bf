"""Arguments as models misspell them."""

from __future__ import annotations

from typing import Any

import pytest

from colleague.agent.tool import ToolSpec
from colleague.agent.toolbox import BadArguments, checked_arguments
from colleague.agent.tools.edit import EditTool
from colleague.agent.tools.read import ReadTool
from colleague.agent.tools.write import WriteTool


@pytest.mark.parametrize(
    ("spec", "given", "meant"),
    [
        (ReadTool.spec, {"file_path": "a.md"}, {"path": "a.md"}),
        (ReadTool.spec, {"filePath": "a.md"}, {"path": "a.md"}),
        (WriteTool.spec, {"file": "a.md", "content": "x"}, {"path": "a.md", "text": "x"}),
        (
            EditTool.spec,
            {"file_path": "a", "edits": [{"old_string": "x", "newText": "y", "replaceAll": True}]},
            {"path": "a", "edits": [{"old": "x", "new": "y", "replace_all": True}]},
        ),
        (ReadTool.spec, {"path": "a.md", "offset": None}, {"path": "a.md"}),
    ],
)
def test_what_is_meant_is_what_runs(spec: ToolSpec, given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert checked_arguments(spec, given) == meant


@pytest.mark.parametrize(
    "given", [{"path": "a", "file_path": "b"}, {"file": "a", "file_path": "b"}, {"nonsense": 1}, {}]
)
def test_what_is_not_clear_is_an_error_that_says_what_to_do(given: dict[str, Any]) -> None:
    with pytest.raises(
        BadArguments, match=r"the arguments of read do not fit: .*It takes path.*\(optional\)"
    ):
        checked_arguments(ReadTool.spec, given)


def test_what_fits_is_not_touched() -> None:
    free = ToolSpec("t", "", {"type": "object", "properties": {"path": {"type": "string"}}})
    assert checked_arguments(free, {"file_path": "a"}) == {"file_path": "a"}
