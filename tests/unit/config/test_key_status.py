"""What the schema says of each key is what the code does with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from colleague.config import Settings, known_settings
from colleague.config.section import Section, StatusMark, mark_of, not_yet, restricts, works
from tests.unit.config.reads import MODELS, SOURCE, Name, Read, modules, reads_in, reads_of_the_code, used


class Key(NamedTuple):
    """A key without keys below it. `steps` are the attributes on the way to it, `marked` is the one with the
    status that counts: the first."""

    path: str
    steps: tuple[Name, ...]
    marked: Name | None
    mark: StatusMark | None


def every_key(model: type[Section], path: str = "", steps: tuple[Name, ...] = ()) -> Iterator[Key]:
    yield from _keys(model, path, steps, None, None)


def _keys(
    model: type[Section], path: str, steps: tuple[Name, ...], marked: Name | None, mark: StatusMark | None
) -> Iterator[Key]:
    for name, field in model.model_fields.items():
        step, own = (_owner(model, name), name), mark_of(field)
        at, way = f"{path}{field.alias}", (*steps, step)
        first, counts = (step, own) if mark is None and own else (marked, mark)
        below = list(_sections(field.annotation))
        if not below:
            yield Key(at, way, first, counts)
        for section in below:
            yield from _keys(section, f"{at}.", way, first, counts)


def _owner(model: type[Section], name: str) -> str:
    """The class that declares the attribute."""
    return next(
        each.__name__ for each in reversed(model.__mro__) if name in vars(each).get("__annotations__", {})
    )


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
        return
    inner = get_args(annotation)
    for each in inner[-1:] if get_origin(annotation) is Mapping else inner:
        yield from _sections(each)


def untrue(model: type[Section], names: set[Name]) -> Iterator[str]:
    """Keys whose status is not what the code does, given the attributes that it uses."""
    for key in every_key(model):
        if key.mark is None or key.marked is None:
            yield f"{key.path} has no status: declare it with works, not_yet or restricts"
        elif key.mark.status == "works":
            unread = [".".join(step) for step in key.steps if step not in names]
            if unread:
                yield f"{key.path} is marked works, and nothing reads {unread[0]}"
        elif key.marked in names:
            yield f"{key.path} is marked {key.mark.status}, and {'.'.join(key.marked)} is read"


def test_the_status_of_every_key_is_true() -> None:
    assert list(untrue(Settings, used(reads_of_the_code()))) == []


def test_every_key_works() -> None:
    assert [each.key for each in known_settings() if each.status != "works"] == []


class TestUntrueIsFoundOut:
    def test_an_invented_key_that_works(self) -> None:
        class Invented(Settings):
            mode: str = works(default="", description="Others are called mode as well.")

        found = list(untrue(Invented, used(reads_of_the_code())))
        assert found == ["mode is marked works, and nothing reads Invented.mode"]

    def test_a_key_in_a_section_that_nobody_opens(self) -> None:
        names = used(reads_of_the_code()) - {("Settings", "gateway")}
        assert "gateway.port is marked works, and nothing reads Settings.gateway" in list(
            untrue(Settings, names)
        )

    def test_a_restriction_that_is_read_by_now(self) -> None:
        class Invented(Section):
            limit: bool = restricts(default=False, description="")

        assert list(untrue(Invented, {("Invented", "limit")})) == [
            "limit is marked restricts, and Invented.limit is read"
        ]

    def test_a_key_that_is_read_by_now(self) -> None:
        class Invented(Section):
            watch: bool = not_yet(default=True, description="")

        assert list(untrue(Invented, set())) == []
        assert list(untrue(Invented, {("Invented", "watch")})) == [
            "watch is marked not yet, and Invented.watch is read"
        ]

    def test_a_key_without_a_status(self) -> None:
        class Plain(Section):
            port: int = 3

        assert list(untrue(Plain, set())) == [
            "port has no status: declare it with works, not_yet or restricts"
        ]

    def test_a_heading_with_a_status_counts_for_what_is_below(self) -> None:
        class Below(Section):
            deny: int = restricts(default=0, description="")

        class Above(Section):
            layer: Below = not_yet(default_factory=Below, description="")

        assert list(untrue(Above, {("Below", "deny")})) == []
        assert list(untrue(Above, {("Above", "layer")})) == [
            "layer.deny is marked not yet, and Above.layer is read"
        ]


class TestReads:
    """The way in which the lists are checked, on code that is written for it."""

    def found(self, tmp_path: Path, code: str) -> set[Name]:
        file = tmp_path / "reader.py"
        file.write_text(f"from colleague.config import Settings\n{code}")
        models = {name: each for name, each in modules().items() if each.parent == MODELS}
        return {each.name for each in reads_in(models | {"reader": file}) if each.file == file.resolve()}

    def test_by_the_class_and_not_by_the_name(self, tmp_path: Path) -> None:
        code = """
def one(settings: Settings) -> object:
    tools = settings.tools
    return [each.deny for each in tools.by_provider.values()], settings.gateway.auth.mode

class Other:
    profile = ""

def two(other: Other) -> str:
    return other.profile
"""
        assert self.found(tmp_path, code) == {
            ("Settings", "tools"),
            ("AgentTools", "by_provider"),
            ("ToolLists", "deny"),
            ("Settings", "gateway"),
            ("GatewaySettings", "auth"),
            ("GatewayAuth", "mode"),
        }

    def test_a_method_of_the_settings_reads_for_whoever_calls_it(self) -> None:
        names = used(reads_of_the_code())
        assert ("AgentDefaults", "thinking_level") in names
        assert ("ThinkingSettings", "level") in names

    def test_comparing_is_no_use(self) -> None:
        acting, comparing = (
            SOURCE / "colleague" / "gateway" / name for name in ("serve.py", "restart_only.py")
        )
        read = ("Settings", "invented")
        assert read in used(frozenset({Read(read, acting, 1)}))
        assert read not in used(frozenset({Read(read, comparing, 1)}))
