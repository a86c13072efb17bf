"""A hidden file is read by who knows its path, and shown by nothing else."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.agent.tools.path import PathError
from colleague.agent.tools.tree import Tree
from tests.integration.tools.desk import Desk, Session

LIMITS = "knowledge/limits.md"
CANARY = "CANARY-7f3a"
ACCENTED = "knowledge/r\u00e9serv\u00e9.md"


@pytest.fixture
def private_desk(sqlite_desk: Desk) -> Desk:
    for path in (LIMITS, ACCENTED, "knowledge/deep/secret.md"):
        file = sqlite_desk.package / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# Limits\n\nNever above {CANARY}.\n")
    return replace(sqlite_desk, hidden=frozenset({LIMITS, ACCENTED, "knowledge/deep/secret.md"}))


@pytest.mark.parametrize("path", [LIMITS, "./knowledge//limits.md", "knowledge/./limits.md", ACCENTED])
def test_read_by_its_path_and_marked(private_desk: Desk, path: str) -> None:
    output = private_desk.call("read", path=path)
    assert CANARY in output.text
    assert output.private
    assert not output.is_error


def test_other_files_are_not_private(private_desk: Desk) -> None:
    assert not private_desk.call("read", path="knowledge/pricing.md").private
    assert not private_desk.call("ls", path="knowledge").private
    assert not private_desk.call("read").private


def test_written_in_another_way_it_is_the_same_file(private_desk: Desk) -> None:
    assert private_desk.call("read", path=unicodedata.normalize("NFD", ACCENTED)).private


SEARCHES = [
    ("ls", {}),
    ("ls", {"path": "knowledge"}),
    ("ls", {"path": "knowledge/deep"}),
    ("find", {"pattern": "*"}),
    ("find", {"pattern": "limits.md"}),
    ("find", {"pattern": LIMITS}),
    ("find", {"pattern": "**/*.md", "path": "knowledge"}),
    ("grep", {"pattern": "CANARY"}),
    ("grep", {"pattern": ".", "glob": LIMITS}),
    ("grep", {"pattern": ".", "path": "knowledge"}),
]


@pytest.mark.parametrize(("tool", "arguments"), SEARCHES)
def test_in_no_list_and_no_search(private_desk: Desk, tool: str, arguments: dict[str, str]) -> None:
    text = private_desk.call(tool, **arguments).text
    for word in ("limits", CANARY, "secret.md", "serv"):
        assert word not in text


@pytest.mark.parametrize(
    "path",
    [
        "limits.md",
        "knowledge/limit.md",
        "knowledge/Limits.md",
        "state/limits.md",
        "secret.md",
        "knowledge/lim",
    ],
)
def test_in_no_suggestion(private_desk: Desk, path: str) -> None:
    output = private_desk.call("read", path=path)
    assert output.is_error
    assert LIMITS not in output.text
    assert "deep/secret" not in output.text
    assert CANARY not in output.text


def test_an_error_about_it_is_private_too(private_desk: Desk) -> None:
    async def go(session: Session) -> None:
        past = await session.call("read", path=LIMITS, offset=99)
        assert past.is_error
        assert past.private
        written = await session.call("write", path=LIMITS, text="x")
        assert (written.is_error, written.private) == (True, True)
        for name in ("find", "grep"):
            searched = await session.call(name, path=LIMITS, pattern=".")
            assert searched.text == "knowledge/limits.md is left out of every search. Read it."
            assert searched.private

    private_desk.run(go)


def test_an_edit_that_shows_text_of_one_is_private(sqlite_desk: Desk) -> None:
    desk = replace(sqlite_desk, hidden=frozenset({"state/pipeline.md"}))
    refused = desk.call("edit", path="state/pipeline.md", edits=[{"old": "- Adaa", "new": "x"}])
    assert "- Ada" in refused.text
    assert refused.private
    unseen = desk.call("write", path="state/pipeline.md", text="x")
    assert "- Bob" in unseen.text
    assert unseen.private


def test_a_name_that_no_path_can_have_is_hidden_as_well(private_desk: Desk) -> None:
    name = "knowledge/turned\u202e.md"
    (private_desk.package / name).write_text(CANARY)
    desk = replace(private_desk, hidden=private_desk.hidden | {name})
    assert "turned" in private_desk.call("ls", path="knowledge").text
    assert "turned" not in desk.call("ls", path="knowledge").text
    assert CANARY not in desk.call("grep", pattern="CANARY").text


@given(
    st.lists(st.sampled_from(["knowledge", "limits.md", ".", "", "..", "x", "~", "\0", "\ud800"]), max_size=5)
)
def test_asking_about_any_path_is_safe(names: list[str]) -> None:
    tree = Tree({}, hidden={LIMITS})
    meant = [name for name in names if name not in ("", ".")] == ["knowledge", "limits.md"]
    assert tree.is_hidden("/".join(names)) is meant


def test_a_walk_from_it_is_refused(private_desk: Desk) -> None:
    with pytest.raises(PathError, match="left out of every search"):
        private_desk.tree.walk(LIMITS)
