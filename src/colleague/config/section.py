"""What the models of the settings are made of: the base model and the types of values.

Modules with sections do without `from __future__ import annotations`: pydantic would have to evaluate each
annotation, and every command that reads the settings would wait for it."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    PlainSerializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from colleague import duration
from colleague.config.secret import Secret, hide, show


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _made(schema: core_schema.CoreSchema) -> GetPydanticSchema:
    """Hundreds of keys have one of a few types: what pydantic would find out for each is made once."""
    return GetPydanticSchema(lambda _type, _handler: schema)


def duration_schema(parse: Callable[[str], duration.Duration]) -> GetPydanticSchema:
    """A text in the files, a Duration here, the text again in what is shown."""
    return _made(
        core_schema.no_info_after_validator_function(
            parse, core_schema.str_schema(), serialization=core_schema.to_string_ser_schema()
        )
    )


def _whole_number(least: int) -> GetPydanticSchema:
    number = core_schema.int_schema(strict=True, ge=least, le=2**53)
    return _made(core_schema.no_info_before_validator_function(_whole, number))


def _as_text(value: object) -> object:
    """Variables and headers may be written as numbers and flags."""
    return str(value).lower() if isinstance(value, bool | int | float) else value


def _check_path(text: str) -> str:
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL character")
    return text


Int = Annotated[int, _whole_number(0)]
Positive = Annotated[int, _whole_number(1)]
Number = Annotated[float, _made(core_schema.float_schema(strict=True, ge=0))]
Ratio = Annotated[float, _made(core_schema.float_schema(strict=True, ge=0, le=1))]
Flag = Annotated[bool, _made(core_schema.bool_schema(strict=True))]
Names = tuple[str, ...]
Duration = Annotated[duration.Duration, duration_schema(duration.parse_positive_duration)]
"""Written with its unit, such as 30s or 7d. A key whose name has the unit (timeoutSeconds) is a number."""
PathText = Annotated[str, AfterValidator(_check_path)]
Variable = Annotated[Secret, BeforeValidator(_as_text)]
FreeForm = Annotated[Mapping[str, object], AfterValidator(hide), PlainSerializer(show)]

ToolProfile = Literal["minimal", "coding", "messaging", "full"]


Status = Literal["works", "not yet", "restricts"]


def _never(_: Any) -> bool:
    return False


class StatusMark(NamedTuple):
    """The status of a key. `harmless` recognises values of a restriction that restrict nothing, besides the
    default; `apart` is the part of a key without effect that has one."""

    status: Status
    harmless: Callable[[Any], bool] = _never
    apart: str = ""


class _Description(str):
    """The description of a key, with its status: pydantic keeps it as it is, and needs no time for it."""

    __slots__ = ("mark",)
    mark: StatusMark


def _marked(mark: StatusMark, description: str, field: dict[str, Any]) -> Any:
    text = _Description(description)
    text.mark = mark
    return Field(description=text, **field)


def works(*, description: str, **field: Any) -> Any:
    """A key that the code reads. Takes what `Field` takes."""
    return _marked(StatusMark("works"), description, field)


def not_yet(*, description: str, apart: str = "", **field: Any) -> Any:
    """A key that is accepted and has no effect yet: whoever sets it is told so."""
    return _marked(StatusMark("not yet", apart=apart), description, field)


def restricts(*, description: str, harmless: Callable[[Any], bool] = _never, **field: Any) -> Any:
    """A key that restricts agents and that nothing enforces yet: with it, nothing starts."""
    return _marked(StatusMark("restricts", harmless), description, field)


def part(kind: "type[Section]", *, description: str, **field: Any) -> Any:
    """A key that holds other keys, which are at their defaults when it is not set.

    Defaults are right as they are written: nothing is built to check them."""
    return Field(default_factory=lambda: kind.model_construct(), description=description, **field)


def mark_of(field: FieldInfo) -> StatusMark | None:
    """None for a key that only holds other keys, which have a status of their own."""
    return field.description.mark if isinstance(field.description, _Description) else None


def keys(names: str) -> frozenset[str]:
    return frozenset(names.split())


FROM_FILES = "from files"
"""The context of values that stand in files, where only the spelling of the files counts."""


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class Section(BaseModel):
    """Part of the settings: camelCase in the files, snake_case here.

    `passed_over` names the keys that OpenClaw has in this place and we do not use, `renamed` other
    spellings of a key, in a RenamedSection.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=_camel_case,
        validate_by_alias=True,
        validate_by_name=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )
    passed_over: ClassVar[frozenset[str]] = frozenset()
    renamed: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Inside another section it is only called: what checks it is built when a value is given for it."""
        if handler.field_name is None:
            return handler(source)
        return core_schema.with_info_plain_validator_function(cls._check)

    @classmethod
    def _check(cls, value: object, info: core_schema.ValidationInfo) -> Self:
        by_name = info.context != FROM_FILES
        return cls.model_validate(value, context=info.context, by_alias=True, by_name=by_name)


class RenamedSection(Section):
    """A section with keys that may be spelled in another way."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not cls.renamed.keys() & value.keys():
            return value
        return {cls.renamed.get(key, key): item for key, item in value.items()} | {
            key: item for key, item in value.items() if key not in cls.renamed
        }
