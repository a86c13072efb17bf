"""Reading: whole, in parts, and what is not text."""

from __future__ import annotations

import pytest

from colleague.agent.tools.page import MOST_CHARACTERS, MOST_LINES, count_lines, page
from tests.integration.tools.desk import Desk, Session

OFFSET = "read: offset must be a whole number of at least 1."


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


class TestTool:
    def test_a_file_with_its_source(self, sqlite_desk: Desk) -> None:
        output = sqlite_desk.call("read", path="./state/pipeline.md")
        assert output.text == "# Pipeline\n\n- Ada\n- Bob\n"
        assert output.source == "file:state/pipeline.md"
        assert not output.is_error

    def test_the_package_is_our_own_word(self, sqlite_desk: Desk) -> None:
        assert sqlite_desk.call("read", path="functions/qualify.md").source == ""
        assert sqlite_desk.call("ls", path="functions").source == ""
        assert sqlite_desk.call("ls").source == "file:."

    def test_a_part_with_numbers(self, sqlite_desk: Desk) -> None:
        output = sqlite_desk.call("read", path="state/pipeline.md", offset=3, limit=1, line_numbers=True)
        assert output.text == "     3  - Ada\n[lines 3 to 3 of 4 shown; read on with offset=4]"

    @pytest.mark.parametrize("offset", [5, 5000])
    def test_past_the_end(self, sqlite_desk: Desk, offset: int) -> None:
        output = sqlite_desk.call("read", path="state/pipeline.md", offset=offset)
        assert output.is_error
        assert output.text == f"state/pipeline.md has 4 lines; offset {offset} is past its end."

    def test_an_empty_file(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/empty.md").touch()
        assert sqlite_desk.call("read", path="state/empty.md").text == "[the file is empty]"

    @pytest.mark.parametrize(
        ("data", "kind"),
        [
            (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image of 10 bytes"),
            (b"SQLite format 3\0", "an SQLite database of 16 bytes"),
            ("text".encode("utf-16"), "UTF-16 text of 10 bytes"),
            (b"abc\0def", "a binary file of 7 bytes"),
        ],
    )
    def test_binary_files_are_described(self, sqlite_desk: Desk, data: bytes, kind: str) -> None:
        sqlite_desk.file("state/logo").write_bytes(data)
        output = sqlite_desk.call("read", path="state/logo")
        assert output.text == f"state/logo is {kind}, which is not shown as text."
        assert not output.is_error

    def test_bytes_that_are_not_utf8(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/latin.md").write_bytes("Café\n".encode("latin-1"))
        output = sqlite_desk.call("read", path="state/latin.md")
        assert output.text == "Caf\ufffd\n[bytes that are not UTF-8 are shown as \ufffd]"

    def test_files_from_windows_look_plain(self, sqlite_desk: Desk) -> None:
        sqlite_desk.file("state/win.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
        assert sqlite_desk.call("read", path="state/win.md").text == "one\ntwo\n"

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ({}, "read: path is missing."),
            ({"path": 7}, "read: path must be text."),
            ({"path": "a\ud800"}, "read: path has half a character at position 1."),
            ({"path": "x", "offset": 0}, OFFSET),
            ({"path": "x", "offset": "x"}, OFFSET),
            ({"path": "x", "offset": 1.5}, OFFSET),
            ({"path": "x", "limit": True}, "read: limit must be a whole number."),
            ({"path": "x", "limit": float("inf")}, "read: limit must be a whole number of at least 1."),
            ({"path": "x", "line_numbers": "yes"}, "read: line_numbers must be true or false."),
            (
                {"file": "x"},
                "read: there is no argument 'file'; it takes path, offset, limit, column, line_numbers.",
            ),
        ],
    )  # fmt: skip
    def test_arguments_that_make_no_sense(
        self, sqlite_desk: Desk, arguments: dict[str, object], says: str
    ) -> None:
        output = sqlite_desk.call("read", **arguments)
        assert (output.is_error, output.text) == (True, says)

    def test_numbers_as_models_write_them(self, sqlite_desk: Desk) -> None:
        assert sqlite_desk.call("read", path="state/pipeline.md", offset="4", limit=1.0).text == "- Bob\n"


def test_following_the_markers_reads_everything_once(sqlite_desk: Desk) -> None:
    text = lines(5000) + "y" * (2 * MOST_CHARACTERS + 7) + "\n" + "z" * 50 + "\nend without a line end"
    sqlite_desk.file("state/long.md").write_text(text)

    async def read_on(session: Session) -> str:
        read, more = "", {}
        while True:
            shown = await session.ok("read", path="state/long.md", **more)
            assert len(shown) < MOST_CHARACTERS + 200
            body, mark, note = shown.rpartition("[lines ")
            if not mark:
                return read + shown
            more = dict(each.split("=") for each in note.removesuffix("]").partition("with ")[2].split(", "))
            read += body if "column" not in more else body.removesuffix("\n")

    assert sqlite_desk.run(read_on) == text


class TestPage:
    def test_limits(self) -> None:
        assert page(lines(3)).shown == lines(3)
        assert page(lines(MOST_LINES)).shown == lines(MOST_LINES)
        assert page(lines(MOST_LINES + 1)).shown.endswith(
            f"\n[lines 1 to {MOST_LINES} of {MOST_LINES + 1} shown; read on with offset={MOST_LINES + 1}]"
        )

    def test_positions_cover_the_text(self) -> None:
        first, second = page("aa\nbb\ncc", limit=2), page("aa\nbb\ncc", line=3)
        assert (first.first, first.last, second.first, second.last) == (0, 6, 6, 8)

    @pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)])
    def test_count_lines(self, text: str, count: int) -> None:
        assert count_lines(text) == count
