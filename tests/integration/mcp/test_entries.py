"""Servers in colleague.json, added and removed as text."""

from __future__ import annotations

from pathlib import Path

import pyjson5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.config import load_settings
from colleague.config.json5_edit import find_object, insert, remove, written
from colleague.config.json5_tokens import comments
from colleague.errors import ColleagueError, ConfigError, NotFound
from colleague.home import Home
from colleague.mcp.entries import add_entry, remove_entry

ENTRY = {"command": "npx", "args": ["-y", "it"], "demo": True}
LINE = '{ command: "npx", args: ["-y", "it"], demo: true }'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def write(home: Home, text: str) -> None:
    home.root.mkdir(exist_ok=True)
    home.settings_file.write_bytes(text.encode())


def read(home: Home) -> str:
    return home.settings_file.read_bytes().decode()


ADDED = {
    "{}": f"{{ mcp: {{ servers: {{ it: {LINE} }} }} }}",
    "{ mcp: {} }": f"{{ mcp: {{ servers: {{ it: {LINE} }} }} }}",
    "{ mcp: { servers: {} } } // end": f"{{ mcp: {{ servers: {{ it: {LINE} }} }} }} // end",
    '{ mcp: { servers: { a: { url: "http://a" } } } }': (
        f'{{ mcp: {{ servers: {{ a: {{ url: "http://a" }}, it: {LINE} }} }} }}'
    ),
    '{ mcp: { servers: { a: { url: "http://a" }, } } }': (
        f'{{ mcp: {{ servers: {{ a: {{ url: "http://a" }}, it: {LINE} }} }} }}'
    ),
    '{\n  // mine\n  "mcp": {\n    "servers": {\n      "a": {"url": "http://a"} // a } b\n    }\n  }\n}\n': (
        '{\n  // mine\n  "mcp": {\n    "servers": {\n'
        f'      "a": {{"url": "http://a"}}, // a }} b\n      it: {LINE},\n    }}\n  }}\n}}\n'
    ),
    "{ mcp: { servers: {\n  /* } */ a: { url: 'x' }\n} } }": (
        f"{{ mcp: {{ servers: {{\n  /* }} */ a: {{ url: 'x' }},\n  it: {LINE},\n}} }} }}"
    ),
    "{\n\tgateway: { port: 1 }, // keep\n}": (
        f"{{\n\tgateway: {{ port: 1 }}, // keep\n\tmcp: {{ servers: {{ it: {LINE} }} }},\n}}"
    ),
    "{\r\n  gateway: {}\r\n}\r\n": (
        f"{{\r\n  gateway: {{}},\r\n  mcp: {{ servers: {{ it: {LINE} }} }},\r\n}}\r\n"
    ),
}


@pytest.mark.parametrize("before", ADDED)
def test_added_where_it_belongs_with_everything_else_untouched(home: Home, before: str) -> None:
    write(home, before)
    add_entry(home, "it", ENTRY)
    assert read(home) == ADDED[before]
    assert load_settings(home).mcp.servers["it"].args == ("-y", "it")


def test_added_and_removed_the_default_file_is_as_before(home: Home) -> None:
    add_entry(home, "first", ENTRY)
    assert home.settings_file.stat().st_mode & 0o777 == 0o600
    before = read(home)
    add_entry(home, "my-server.2", {"url": "http://127.0.0.1:9/mcp"})
    assert '"my-server.2": { url: "http://127.0.0.1:9/mcp" },\n' in read(home)
    remove_entry(home, "my-server.2")
    assert read(home) == before
    remove_entry(home, "first")
    assert "hubspot-mcp" in read(home)
    assert load_settings(home).mcp.servers == {}


REMOVED = {
    "{ mcp: { servers: { it: { url: 'x' } } } }": "{ mcp: { servers: {  } } }",
    "{ mcp: { servers: {\n  // about it\n  it: { url: 'x' }, // why\n  b: { url: 'y' }\n} } }": (
        "{ mcp: { servers: {\n  // about it\n   // why\n  b: { url: 'y' }\n} } }"
    ),
    "{ mcp: { servers: {\n  b: { url: 'y' },\n  'it': {\n    url: 'x', // inside\n  }\n} } }": (
        "{ mcp: { servers: {\n  b: { url: 'y' },\n} } }"
    ),
    "{ mcp: { servers: {\n  it: { url: 'x' },\n  it: { url: 'z' },\n} } }": "{ mcp: { servers: {\n} } }",
}


@pytest.mark.parametrize("before", REMOVED)
def test_removed_with_the_comments_around_it_kept(home: Home, before: str) -> None:
    write(home, before)
    assert remove_entry(home, "it") is None
    assert read(home) == REMOVED[before]


def test_a_name_that_is_taken_is_refused_with_its_place(home: Home) -> None:
    write(home, "{ mcp: { servers: {\n  it: { url: 'x' } } } }")
    with pytest.raises(ColleagueError, match=r"is there already: .*colleague.json:2:7"):
        add_entry(home, "it", ENTRY)


def test_a_server_of_openclaw_is_left_to_its_file(home: Home) -> None:
    home.root.mkdir()
    theirs = "{ mcp: { servers: { it: { command: 'theirs' } } } }"
    home.openclaw_file.write_text(theirs)
    with pytest.raises(ColleagueError, match=r"defined in .*openclaw.json:1:25, not in colleague.json"):
        remove_entry(home, "it")
    with pytest.raises(ColleagueError, match=r"is there already: .*openclaw.json"):
        add_entry(home, "it", ENTRY)
    write(home, "{ mcp: { servers: { it: { enabled: false } } } }")
    still = remove_entry(home, "it")
    assert still
    assert still.file == home.openclaw_file
    assert home.openclaw_file.read_text() == theirs


def test_a_server_of_an_included_file_is_named_there(home: Home) -> None:
    write(home, "{ mcp: { $include: './more.json5' } }")
    (home.root / "more.json5").write_text("{ servers: { it: { command: 'x' } } }")
    with pytest.raises(ColleagueError, match=r"defined in .*more.json5"):
        remove_entry(home, "it")
    add_entry(home, "new", ENTRY)
    assert load_settings(home).mcp.servers.keys() == {"it", "new"}


def test_what_is_not_there_cannot_be_removed(home: Home) -> None:
    with pytest.raises(NotFound, match="there is no MCP server it"):
        remove_entry(home, "it")
    assert not home.settings_file.exists()


def test_a_change_that_does_not_load_is_taken_back(home: Home) -> None:
    text = "{ gateway: {} }"
    write(home, text)
    with pytest.raises(ConfigError, match="neither command nor url"):
        add_entry(home, "it", {"demo": True})
    assert read(home) == text


KEYS = st.text("ab_-{}\"'/ \u2028ü", min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab{}[],:/*\"'\\\n ü", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SPACE = st.sampled_from([" ", "\n", "\n    ", " /* } , */ ", " // { ' \n"])


@given(st.dictionaries(KEYS, VALUES, max_size=4), KEYS, VALUES, SPACE, SPACE, st.booleans())
def test_any_object_takes_and_gives_back_a_member(
    members: dict[str, object], key: str, value: object, before: str, after: str, comma: bool
) -> None:
    members.pop(key, None)
    inside = f"{after},{before}".join(f"{written({k: v})[1:-1]}" for k, v in members.items())
    text = f"{{{before}{inside}{after}{',' if comma and members else ''}{before}}}"
    span = find_object(text, ())
    assert span
    assert [each.key for each in span.members] == list(members)
    added = insert(text, span, key, written(value))
    assert pyjson5.decode(added) == {**members, key: value}
    assert comments(added) == comments(text)
    found = find_object(added, ())
    assert found
    removed = remove(added, found.all(key)[0])
    assert pyjson5.decode(removed) == members
    assert comments(removed) == comments(text)
