"""docs/models.md, provider by provider: added, probed, and asked for one turn with a tool call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Colleague, Said
from tests.integration.models import providers

KEY = "-".join(("key", "0123456789"))
UNSET = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"), ""
)


@dataclass(frozen=True)
class Case:
    """`path` is what the server is asked for; `key` the header and text by which it knows who asks."""

    provider: str
    answer: Callable[[bool], list[str]]
    model: str
    path: str
    base: str = ""
    variable: str = ""
    header: str = "authorization"
    key: str = f"Bearer {KEY}"


CASES = [
    Case(
        "anthropic",
        providers.anthropic,
        "claude-sonnet-4-5",
        "/v1/messages",
        variable="ANTHROPIC_API_KEY",
        header="x-api-key",
        key=KEY,
    ),
    Case("openai", providers.responses, "gpt-5-mini", "/v1/responses", "/v1", "OPENAI_API_KEY"),
    Case(
        "google",
        providers.gemini,
        "gemini-2.5-flash",
        "models/gemini-2.5-flash:streamGenerateContent",
        variable="GEMINI_API_KEY",
        header="x-goog-api-key",
        key=KEY,
    ),
    Case(
        "openrouter",
        providers.openrouter,
        "anthropic/claude-sonnet-4.5",
        "/api/v1/chat/completions",
        "/api/v1",
        "OPENROUTER_API_KEY",
    ),
    Case("ollama", providers.ollama, "qwen3:8b", "/v1/chat/completions", "/v1", key=""),
    Case("openai-compatible", providers.chat, "m1", "/v1/chat/completions", "/v1", "MY_KEY"),
]


def run(colleague: Colleague, *arguments: str, **environment: str) -> Said:
    said = colleague(*arguments, **{**UNSET, **environment})
    assert KEY not in said.out + said.err
    return said


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.provider)
def test_one_turn_with_a_tool_call(case: Case, colleague: Colleague) -> None:
    environment = {case.variable: KEY} if case.variable else {}
    named = ("--api-key-env", "MY_KEY") if case.variable == "MY_KEY" else ()
    with providers.provider(case.answer) as server:
        options = ("--provider", case.provider, "--model", case.model, "--base-url", server.url + case.base)
        added = run(colleague, "model", "add", "mine", *options, *named, "--default", **environment)
        assert added.code == 0, added.err
        listed = run(colleague, "model", "list", "--json", **environment).json[0]
        assert (listed["name"], listed["default"]) == (f"mine/{case.model}", True)
        assert listed["key"] == ("set" if case.variable else "not needed")
        probed = run(colleague, "model", "probe", **environment)
        assert (probed.code, providers.ANSWER in probed.out) == (0, True), probed.err
        said = run(colleague, "agent", "What is in the folder?", **environment)
        assert (said.code, providers.ANSWER in said.out) == (0, True), said.out + said.err
    asked = [each for each in server.seen if each.body.get("tools")]
    assert len(asked) == 2
    for request in asked:
        assert case.path in request.path
        assert not case.key or request.headers[case.header] == case.key
        assert case.model in request.path + json.dumps(request.body.get("model"))
    assert [providers.answered(request.body) for request in asked] == [False, True]
    assert "EXPERTS.md" in json.dumps(asked[1].body)
    text = (colleague.home / "colleague.json").read_text()
    assert KEY not in text
    assert not case.variable or f'apiKey: "${{{case.variable}}}"' in text


class TestAdd:
    def test_comments_and_format_stay(self, colleague: Colleague) -> None:
        colleague.home.mkdir()
        file = colleague.home / "colleague.json"
        file.write_text(
            "// mine\n{\n  agents: { defaults: { model: 'a/b' /* old */, maxTurns: 7 } }, // keep\n"
            "  models: {\n    providers: {\n      a: { api: 'openai-completions', models: [{id: 'b'}] }\n"
            "    }\n  }\n}\n"
        )
        run(colleague, "model", "add", "claude", "--provider", "anthropic", "--default")
        assert file.read_text() == (
            '// mine\n{\n  agents: { defaults: { model: "claude/claude-sonnet-4-5" /* old */, '
            "maxTurns: 7 } }, // keep\n"
            "  models: {\n    providers: {\n      a: { api: 'openai-completions', models: [{id: 'b'}] },\n"
            '      claude: { api: "anthropic-messages", apiKey: "${ANTHROPIC_API_KEY}", '
            'models: [{ id: "claude-sonnet-4-5" }] },\n    }\n  }\n}\n'
        )

    def test_fallbacks_stay(self, colleague: Colleague) -> None:
        colleague.home.mkdir()
        file = colleague.home / "colleague.json"
        file.write_text(
            '{ agents: { defaults: { model: { primary: "a/b", fallbacks: ["openai/gpt-5-mini"] } } } }\n'
        )
        run(colleague, "model", "add", "claude", "--provider", "anthropic", "--default")
        assert 'primary: "claude/claude-sonnet-4-5", fallbacks: ["openai/gpt-5-mini"]' in file.read_text()

    def test_twice(self, colleague: Colleague) -> None:
        assert run(colleague, "model", "add", "claude", "--provider", "anthropic").code == 0
        before = (colleague.home / "colleague.json").read_text()
        again = run(colleague, "model", "add", "claude", "--provider", "openai")
        assert again.code == 1
        assert "the provider claude is there already" in again.err
        assert (colleague.home / "colleague.json").read_text() == before

    def test_without_default_the_default_stays(self, colleague: Colleague) -> None:
        run(colleague, "model", "add", "one", "--provider", "anthropic", "--default")
        run(colleague, "model", "add", "two", "--provider", "openai")
        listed = run(colleague, "model", "list", "--json").json
        assert [each["name"] for each in listed if each["default"]] == ["one/claude-sonnet-4-5"]

    def test_a_key_in_plain_text_only_when_told(self, colleague: Colleague) -> None:
        said = colleague("model", "add", "x", "--provider", "openai", "--api-key-stdin", stdin=f"{KEY}\n")
        assert said.code == 0
        assert KEY not in said.out + said.err
        assert "in plain text" in said.err
        file = colleague.home / "colleague.json"
        assert f'apiKey: "{KEY}"' in file.read_text()
        assert file.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (("--provider", "olama"), "did you mean 'ollama'?"),
            (("--provider", "ollama"), "needs --model"),
            (("--provider", "openrouter"), "needs --model"),
            (("--provider", "openai-compatible", "--model", "m"), "needs --base-url"),
            (("--provider", "openai", "--base-url", "127.0.0.1"), "no http or https address"),
            (("--provider", "openai", "--base-url", f"https://me:{KEY}@x.example/v1"), "password"),
            (("--provider", "openai", "--api-key-env", KEY), "not the key"),
            (("--provider", "openai", "--api-key-stdin"), "no key on stdin"),
        ],
    )
    def test_what_cannot_be_meant(self, options: tuple[str, ...], why: str, colleague: Colleague) -> None:
        said = run(colleague, "model", "add", "mine", *options)
        assert said.code == 2
        assert why in said.err
        assert not (colleague.home / "colleague.json").exists()

    @pytest.mark.parametrize("name", ["script", "rehearsal", "a/b", "A", "", "-x"])
    def test_names_that_are_none(self, name: str, colleague: Colleague) -> None:
        assert run(colleague, "model", "add", "--provider", "anthropic", "--", name).code == 2

    def test_the_file_of_somebody_else_is_never_written(self, colleague: Colleague) -> None:
        colleague.home.mkdir()
        theirs = colleague.home / "openclaw.json"
        theirs.write_text('{ models: { providers: { claude: { api: "anthropic-messages" } } } }')
        said = run(colleague, "model", "add", "claude", "--provider", "anthropic")
        assert (said.code, "openclaw.json" in said.err) == (1, True)
        assert theirs.read_text() == '{ models: { providers: { claude: { api: "anthropic-messages" } } } }'


def test_without_a_model_it_says_how_to_add_one(colleague: Colleague, tmp_path: Path) -> None:
    said = run(colleague, "model", "probe")
    assert "colleague model add NAME --provider PROVIDER --default" in said.err
