"""`${NAME}` references, and text that is never shown."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from colleague.config.secret import Secret, hide, is_telling, resolve, show
from colleague.errors import ConfigError


class TestResolve:
    ENVIRON: ClassVar = {"A": "one", "B_2": "two", "EMPTY": ""}

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("${A}", "one"),
            ("x${A}-${B_2}y", "xone-twoy"),
            ("$${A}", "${A}"),
            ("$${A} ${A}", "${A} one"),
            ("${GONE:-last}", "last"),
            ("${GONE:-}", ""),
            ("${EMPTY:-last}", "last"),
            ("$A ${} ${a b} $", "$A ${} ${a b} $"),
            ("", ""),
        ],
    )
    def test_values(self, text: str, value: str) -> None:
        assert resolve(text, self.ENVIRON) == value
        assert resolve(Secret(text), self.ENVIRON) == value

    @pytest.mark.parametrize("name", ["GONE", "EMPTY"])
    def test_not_set(self, name: str) -> None:
        with pytest.raises(ConfigError) as caught:
            resolve(f"x ${{{name}}}", self.ENVIRON, key="models.providers.p.apiKey")
        assert caught.value.message == (
            f"models.providers.p.apiKey: the environment variable {name} is not set"
        )
        assert name in caught.value.hint

    def test_a_value_is_not_looked_at_again(self) -> None:
        assert resolve("${A}", {"A": "${B}"}) == "${B}"

    def test_what_only_openclaw_can_open(self) -> None:
        with pytest.raises(ConfigError, match=r"^hooks\.token: the secret is in OpenClaw's 'exec' store"):
            resolve(Secret("id", store="exec"), self.ENVIRON, key="hooks.token")


class TestShown:
    @pytest.mark.parametrize("text", ["${NAME}", "${lower_1}"])
    def test_a_reference(self, text: str) -> None:
        assert str(Secret(text)) == text
        assert repr(Secret(text)) == f"Secret({text})"

    @pytest.mark.parametrize(
        "text", ["s3cr3t", "$${s3cr3t}", "${A:-s3cr3t}", "Bearer ${A}", "${A}s3cr3t", ""]
    )
    def test_anything_else(self, text: str) -> None:
        assert str(Secret(text)) == "**********"
        assert repr(Secret(text)) == "Secret(**********)"
        assert f"{Secret(text)}" == "**********"

    def test_it_is_told_apart(self) -> None:
        assert Secret("a") == Secret("a")
        assert Secret("a") != Secret("b")
        assert Secret("a") != Secret("a", store="file")
        assert Secret("a") != "a"
        assert len({Secret("a"), Secret("a")}) == 1


class TestRead:
    def test_text_and_references(self) -> None:
        assert Secret.read("a") == Secret("a")
        assert Secret.read({"source": "env", "provider": "default", "id": "NAME"}) == Secret("${NAME}")
        assert Secret.read({"source": "file", "id": "/a"}) == Secret("/a", store="file")

    @pytest.mark.parametrize("value", [None, 3, True, [], ["a"], {}, {"source": "env"}])
    def test_nothing_else(self, value: Any) -> None:
        with pytest.raises(ValueError, match="it takes a text"):
            Secret.read(value)


class TestHide:
    def test_texts_under_telling_keys(self) -> None:
        hidden = hide(
            {
                "botToken": "a",
                "name": "b",
                "accounts": [{"signingSecret": "c"}, "d"],
                "credentials": {"user": "e", "keys": ["f"], "age": 3},
                "api_key": {"source": "env", "id": "NAME"},
            }
        )
        assert hidden == {
            "botToken": Secret("a"),
            "name": "b",
            "accounts": [{"signingSecret": Secret("c")}, "d"],
            "credentials": {"user": Secret("e"), "keys": [Secret("f")], "age": 3},
            "api_key": Secret("${NAME}"),
        }
        assert show(hidden)["credentials"] == {"user": "**********", "keys": ["**********"], "age": 3}
        assert show(hidden)["api_key"] == "${NAME}"

    def test_telling_keys(self) -> None:
        telling = ["token", "appToken", "PASSWORD", "apiKey", "api-key", "webhookUrl", "Authorization"]
        assert all(is_telling(key) for key in telling)
        assert not any(is_telling(key) for key in ["name", "enabled", "keyPath", "streaming"])
