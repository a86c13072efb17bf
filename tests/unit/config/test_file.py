"""Reading JSON5: positions, errors with line and column, `$include`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.config.file import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INCLUDES,
    KeyPlaces,
    SettingsFile,
    lay_over,
    locate,
    read_settings_file,
)
from colleague.errors import ConfigError


def write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def read(folder: Path, text: str | bytes) -> SettingsFile:
    found = read_settings_file(write(folder, "a.json", text), folder)
    assert found is not None
    return found


def refusal(folder: Path, text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(folder, text)
    assert caught.value.hint
    return caught.value


class TestLocate:
    TEXT = """\
// a comment with { and : in it
{
  plain: 1, /* , */ "quo\\"ted": 'it''s' == 0,
}
""".replace("'it''s' == 0", "'it\\'s'")

    @pytest.mark.parametrize(
        ("text", "path", "at"),
        [
            ("3", [], (1, 1)),
            ("  {}", [], (1, 3)),
            ("{a: 1}", ["a"], (1, 5)),
            ("{'a' : 1}", ["a"], (1, 8)),
            ('{\n  "a": {\n    b: [1, {c: true}],\n  },\n}', ["a", "b", 1, "c"], (3, 16)),
            ("{\\u0061: 1}", ["a"], (1, 10)),
            ('{"\\u0061\\n": 1}', ["a\n"], (1, 14)),
            ("{a: '}:,', b: 2}", ["b"], (1, 15)),
            ("{a: 1, // b: 9\r\n b: 2}", ["b"], (2, 5)),
            ("[[], [[]], 7,]", [2], (1, 12)),
            ("{a: 'x\\\ny', b: 1}", ["b"], (2, 8)),
            ("{é: 1, 'ü': -Infinity}", ["ü"], (1, 13)),
            ("{a: 1, a: 2}", ["a"], (1, 11)),
            ("{a: {b: 1}}", ["a", "x", "y"], (1, 5)),
            (TEXT, ["plain"], (3, 10)),
            (TEXT, ['quo"ted'], (3, 33)),
        ],
    )
    def test_line_and_column(self, text: str, path: list[str | int], at: tuple[int, int]) -> None:
        assert locate(text, path) == at

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=20,
    )

    @given(
        json_values, st.sampled_from([None, 1, "\t"]), st.booleans(), st.sampled_from(["", "//:\n", "/*{*/"])
    )
    def test_every_value_is_where_it_says(
        self, value: Any, indent: int | str | None, ascii_only: bool, comment: str
    ) -> None:
        text = comment + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + comment
        places = KeyPlaces(text)
        for path, expected in walk(value):
            assert json.JSONDecoder().raw_decode(text, places.values[path])[0] == expected
        assert len(places.values) == len(list(walk(value)))
        assert not places.repeated


def walk(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    children: Any = []
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    return [(path, value), *(each for key, item in children for each in walk(item, (*path, key)))]


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "at", "what"),
        [
            ("{\n  a: 1\n  b: 2\n}", "3:3", "'b' where a comma or } should be"),
            ("{a: [1 2]}", "1:8", "'2' where a comma or ] should be"),
            ('{"a" 1}', "1:6", "'1' where a colon should be"),
            ("{a: @}", "1:5", "'@' where a value should be"),
            ("{a: 1,\n 2: 3}", "2:2", "'2' where a key should be"),
            ("{a: 1,,}", "1:7", "one comma too many"),
            ("{\n a: {b: 1", "2:5", "this { is never closed"),
            ("{a: 1,\n b: [1", "2:5", "this [ is never closed"),
            ('{a: "x\ny"}', "1:5", "this text has no closing quote"),
            ("{a: 'it's'}", "1:9", "'s' where a comma or } should be"),
            ("{a: 1}\n\n x", "3:2", "unexpected 'x'"),
            ("{a: tru}", "1:8", "unexpected '}'"),
            ("\n/* no end", "2:10", "the text ends too early"),
            ("{a: 1e999}", "1:5", "this number cannot be read"),
            ("{a: 0x}", "1:5", "this number cannot be read"),
            ("{a: " + "9" * 5000 + "}", "1:5", "this number cannot be read"),
            ("", "1:1", "the file is empty"),
            ("// nothing\n", "1:1", "the file is empty"),
            ("\x00", "1:1", r"'\x00' where a value should be"),
        ],
    )
    def test_error_names_line_and_column(self, tmp_path: Path, text: str, at: str, what: str) -> None:
        assert refusal(tmp_path, text).message == f"{tmp_path}/a.json:{at}: {what}"

    def test_lone_surrogate(self, tmp_path: Path) -> None:
        assert refusal(tmp_path, '{a: "\\ud800"}').message.startswith(f"{tmp_path}/a.json:1:")

    @pytest.mark.parametrize(
        ("end", "what"),
        [("x y}", "3: 'y' where a colon should be"), ("x: tru}", "4: this is not valid JSON5")],
    )
    def test_long_text_is_not_given_to_the_slow_parser(self, tmp_path: Path, end: str, what: str) -> None:
        text = "{\n" + "".join(f"k{n}: 'some text',\n" for n in range(20_000)) + end
        assert refusal(tmp_path, text).message == f"{tmp_path}/a.json:20002:{what}"

    @pytest.mark.parametrize(("text", "said"), [("[1]", "a list"), ("3", "a number"), ("null", "null")])
    def test_top_level_must_be_an_object(self, tmp_path: Path, text: str, said: str) -> None:
        message = refusal(tmp_path, f"\n {text}").message
        assert message == f"{tmp_path}/a.json:2:2: settings are an object, this is {said}"

    @pytest.mark.parametrize("count", [MAX_DEPTH, 100_000])
    def test_deep_nesting(self, tmp_path: Path, count: int) -> None:
        message = refusal(tmp_path, "{a:" + "[" * count + "]" * count + "}").message
        assert message == f"{tmp_path}/a.json:1:{MAX_DEPTH + 3}: nested more than {MAX_DEPTH} levels deep"

    def test_deep_nesting_after_what_only_the_fast_parser_refuses(self, tmp_path: Path) -> None:
        refusal(tmp_path, '{a: "\\ud800", b: ' + "[" * 50_000)

    def test_deepest_allowed_nesting(self, tmp_path: Path) -> None:
        count = MAX_DEPTH - 1
        assert read(tmp_path, "{a:" + "[" * count + "]" * count + "}")

    def test_nan_is_a_number_here(self, tmp_path: Path) -> None:
        assert read(tmp_path, "{a: Infinity, b: -0x1F, c: .5}").tree.plain() == {
            "a": float("inf"),
            "b": -31,
            "c": 0.5,
        }


class TestFile:
    def test_no_file(self, tmp_path: Path) -> None:
        assert read_settings_file(tmp_path / "a.json", tmp_path) is None

    def test_byte_order_mark_does_not_move_columns(self, tmp_path: Path) -> None:
        assert read(tmp_path, b"\xef\xbb\xbf{a: 1}").tree.find(("a",)).place.column == 5
        assert ":1:5: '}' where a value" in refusal(tmp_path, b"\xef\xbb\xbf{a: }").message

    def test_not_utf8(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, b'{\n "\xc3\xa9": "\xe9"}').message
        assert message == f"{tmp_path}/a.json:2:8: byte 0xe9 is not UTF-8"

    def test_utf16(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "{}".encode("utf-16")).message
        assert message == f"{tmp_path}/a.json:1:1: byte 0xff is not UTF-8"

    def test_too_large(self, tmp_path: Path) -> None:
        assert "larger than 10 MB" in refusal(tmp_path, "{}" + " " * (MAX_BYTES - 1)).message
        assert read(tmp_path, "{}" + " " * (MAX_BYTES - 2))

    def test_folder_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").mkdir()
        with pytest.raises(ConfigError, match=r"a\.json is not a file"):
            read_settings_file(tmp_path / "a.json", tmp_path)

    def test_pipe_in_its_place_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.json")
        with pytest.raises(ConfigError, match=r"a\.json is not a file"):
            read_settings_file(tmp_path / "a.json", tmp_path)

    def test_unreadable(self, tmp_path: Path) -> None:
        inside_a_file = write(tmp_path, "b", "") / "a.json"
        with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
            read_settings_file(inside_a_file, tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_no_permission(self, tmp_path: Path) -> None:
        write(tmp_path, "a.json", "{}").chmod(0)
        with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
            read_settings_file(tmp_path / "a.json", tmp_path)

    def test_link_to_nothing_is_not_the_same_as_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").symlink_to(tmp_path / "gone")
        with pytest.raises(ConfigError, match="is a link to nothing"):
            read_settings_file(tmp_path / "a.json", tmp_path)


def test_what_was_read_does_not_show_its_text(tmp_path: Path) -> None:
    assert "s3cr3t" not in repr(read(tmp_path, "{token: 's3cr3t'}"))


class TestRepeatedKeys:
    def test_last_one_counts_and_a_warning_says_so(self, tmp_path: Path) -> None:
        found = read(tmp_path, "{\n  a: {x: 1},\n  'b:': ':', // a: 3\n  a: {\n    y: 1, \"y\": 2 },\n}")
        assert found.tree.plain() == {"a": {"y": 2}, "b:": ":"}
        assert [str(each) for each in found.warnings] == [
            f"{tmp_path}/a.json:4:3: a is written twice; the last one counts",
            f"{tmp_path}/a.json:5:11: a.y is written twice; the last one counts",
        ]
        assert [each.hint for each in found.warnings] == [
            "remove the one on line 2",
            "remove the one on line 5",
        ]

    def test_same_key_in_two_objects_is_fine(self, tmp_path: Path) -> None:
        assert read(tmp_path, "{a: {x: 1}, b: {x: 1}, c: [{x: 1}, {x: 1}]}").warnings == ()


class TestLayOver:
    def test_objects_merge_and_the_rest_is_replaced(self, tmp_path: Path) -> None:
        base = read(tmp_path, "{a: {x: 1, y: 1}, b: [1, 2], c: {z: 1}, d: 1}").tree
        over = read(tmp_path, "{a: {y: 2}, b: [3], c: null, e: 2}").tree
        assert lay_over(base, over).plain() == {
            "a": {"x": 1, "y": 2},
            "b": [3],
            "c": None,
            "d": 1,
            "e": 2,
        }

    def test_a_value_still_knows_its_file(self, tmp_path: Path) -> None:
        base = read_settings_file(write(tmp_path, "base.json", "{\n a: {x: 1}}"), tmp_path)
        over = read_settings_file(write(tmp_path, "over.json", "{a: {y: 2}}"), tmp_path)
        assert base
        assert over
        merged = lay_over(base.tree, over.tree)
        assert str(merged.find(("a", "x")).place) == f"{tmp_path}/base.json:2:9"
        assert str(merged.find(("a", "y")).place) == f"{tmp_path}/over.json:1:9"
        assert str(merged.find(("a", "gone")).place) == f"{tmp_path}/over.json:1:5"


class TestInclude:
    def test_is_merged_beneath_the_keys_beside_it(self, tmp_path: Path) -> None:
        write(tmp_path, "more/b.json5", "{x: 1, y: {p: 1, q: 1}, $include: '../c.json5'}")
        write(tmp_path, "c.json5", "{x: 9, z: 3}")
        found = read(tmp_path, "{a: {$include: './more/b.json5', y: {q: 2}}}")
        assert found.tree.plain() == {"a": {"x": 1, "y": {"p": 1, "q": 2}, "z": 3}}
        assert str(found.tree.find(("a", "y", "p")).place) == f"{tmp_path}/more/b.json5:1:15"
        assert str(found.tree.find(("a", "z")).place) == f"{tmp_path}/c.json5:1:11"

    def test_list_of_files_later_wins_and_lists_join(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "{x: 1, items: [1]}")
        write(tmp_path, "c.json5", "{x: 2, items: [2]}")
        found = read(tmp_path, "{$include: ['b.json5', 'c.json5'], items: [3]}")
        assert found.tree.plain() == {"x": 2, "items": [1, 2, 3]}
        assert str(found.tree.find(("items", 1)).place) == f"{tmp_path}/c.json5:1:16"

    def test_same_file_in_two_places(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "{x: 1}")
        found = read(tmp_path, "{a: {$include: 'b.json5'}, b: {$include: 'b.json5'}}")
        assert found.tree.plain() == {"a": {"x": 1}, "b": {"x": 1}}

    def test_list_alone_is_taken_whole(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "[1, 2]")
        assert read(tmp_path, "{a: {$include: 'b.json5'}}").tree.plain() == {"a": [1, 2]}

    def test_list_cannot_take_keys(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "[1]")
        message = refusal(tmp_path, "{a: {$include: 'b.json5', x: 1}}").message
        assert message.startswith(f"{tmp_path}/a.json:1:16: the included file holds a list")

    @pytest.mark.parametrize("name", ["../out.json5", "{outside}/out.json5", "link.json5", "links/out.json5"])
    def test_outside_the_home_is_refused(self, tmp_path: Path, name: str) -> None:
        outside = tmp_path / "outside"
        home = tmp_path / "home"
        write(outside, "out.json5", "{x: 1}")
        write(tmp_path, "out.json5", "{x: 1}")
        home.mkdir()
        (home / "link.json5").symlink_to(outside / "out.json5")
        (home / "links").symlink_to(outside)
        message = refusal(home, f"{{\n $include: '{name.format(outside=outside)}'}}").message
        assert message.startswith(f"{home}/a.json:2:12: ")
        assert message.endswith(f"is outside {home}")

    def test_absolute_path_inside_the_home(self, tmp_path: Path) -> None:
        file = write(tmp_path, "b.json5", "{x: 1}")
        assert read(tmp_path, f"{{$include: '{file}'}}").tree.plain() == {"x": 1}

    def test_circle_is_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "{\n  a: {$include: 'a.json'}}")
        assert refusal(tmp_path, "{$include: 'b.json5'}").message == (
            f"{tmp_path}/b.json5:2:17: $include goes in a circle: a.json -> b.json5 -> a.json"
        )

    def test_includes_itself(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "{$include: './a.json'}").message
        assert message == f"{tmp_path}/a.json:1:12: $include goes in a circle: a.json -> a.json"

    def test_depth(self, tmp_path: Path) -> None:
        for number in range(1, MAX_INCLUDES + 1):
            write(tmp_path, f"{number}.json5", f"{{$include: '{number + 1}.json5'}}")
        write(tmp_path, f"{MAX_INCLUDES}.json5", "{x: 1}")
        assert read(tmp_path, "{$include: '1.json5'}").tree.plain() == {"x": 1}
        write(tmp_path, f"{MAX_INCLUDES}.json5", f"{{$include: '{MAX_INCLUDES + 1}.json5'}}")
        write(tmp_path, f"{MAX_INCLUDES + 1}.json5", "{x: 1}")
        message = refusal(tmp_path, "{$include: '1.json5'}").message
        assert message == f"{tmp_path}/10.json5:1:12: more than 10 files include each other"

    def test_nesting_through_includes_has_the_same_limit(self, tmp_path: Path) -> None:
        half = MAX_DEPTH // 2 + 2
        write(tmp_path, "b.json5", "{a:" * half + "1" + "}" * half)
        message = refusal(tmp_path, "{a:" * half + "{$include: 'b.json5'}" + "}" * half).message
        assert message.startswith(f"{tmp_path}/b.json5:1:")
        assert "nested more than 64 levels deep" in message

    @pytest.mark.parametrize(
        ("value", "what"),
        [
            ("3", "$include takes a path or a list of paths"),
            ("[]", "$include takes a path or a list of paths"),
            ("['b.json5', 3]", "$include takes a path or a list of paths"),
            ("'gone.json5'", "{home}/gone.json5 does not exist"),
            ("'b\\0.json5'", r"'b\x00.json5' is not a path"),
        ],
    )
    def test_what_cannot_be_included(self, tmp_path: Path, value: str, what: str) -> None:
        write(tmp_path, "b.json5", "{}")
        message = refusal(tmp_path, f"{{$include: {value}}}").message
        assert message == f"{tmp_path}/a.json:1:12: {what.format(home=tmp_path)}"

    def test_too_long_a_name(self, tmp_path: Path) -> None:
        refusal(tmp_path, f"{{$include: '{'x' * 5000}'}}")

    def test_syntax_error_names_the_included_file(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "{\n]")
        message = refusal(tmp_path, "{$include: 'b.json5'}").message
        assert message == f"{tmp_path}/b.json5:2:1: ']' where a key should be"

    def test_repeated_key_in_an_included_file_is_said_once(self, tmp_path: Path) -> None:
        write(tmp_path, "b.json5", "{x: 1, x: 2}")
        found = read(tmp_path, "{a: {$include: 'b.json5'}, b: {$include: 'b.json5'}}")
        assert [str(each) for each in found.warnings] == [
            f"{tmp_path}/b.json5:1:8: x is written twice; the last one counts"
        ]
