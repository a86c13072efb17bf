"""Which models see."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.agent.models.resolve import resolve_model
from colleague.agent.models.resolved import ResolvedModel
from colleague.agent.models.vision import sees
from colleague.config import Settings


@pytest.mark.parametrize(
    "name",
    [
        *(
            "claude-sonnet-4-5",
            "claude-3-haiku-20240307",
            "gpt-4o-mini",
            "gpt-4.1",
            "gpt-5-mini",
            "o3",
            "o4-mini",
        ),
        *(
            "gemini-2.5-flash",
            "google/gemma-3-27b-it",
            "qwen2.5-vl:7b",
            "Qwen3-VL-8B",
            "llava",
            "pixtral-12b",
        ),
        *("meta-llama/llama-4-scout", "llama3.2-vision", "anthropic/claude-opus-4.1", "x-ai/grok-4"),
    ],
)
def test_models_that_see(name: str) -> None:
    assert sees(ResolvedModel("any", name))


@pytest.mark.parametrize(
    "name",
    [
        *(
            "claude-2.1",
            "gpt-3.5-turbo",
            "gpt-4",
            "o1-mini",
            "o3-mini",
            "llama3.3",
            "qwen3:8b",
            "deepseek-r1",
        ),
        *(
            "mistral-7b",
            "gpt-oss-20b",
            "gpt-4o-audio-preview",
            "text-embedding-3",
            "m1",
            "gemma3:1b",
            "walkthrough",
        ),
    ],
)
def test_models_that_do_not(name: str) -> None:
    assert not sees(ResolvedModel("any", name))


@pytest.mark.parametrize(("takes", "expected"), [(["text", "image"], True), (["text"], False), (None, True)])
def test_the_settings_decide(takes: list[str] | None, expected: bool) -> None:
    model = {"id": "claude-sonnet-4-5"} | ({"input": takes} if takes else {})
    provider = {"baseUrl": "http://127.0.0.1:1", "models": [model]}
    settings = Settings.model_validate({"models": {"providers": {"local": provider}}})
    assert sees(resolve_model(settings, {}, "local/claude-sonnet-4-5")) is expected


@pytest.mark.parametrize(("line", "expected"), [("input: [text, image]\n", True), ("", False)])
def test_a_script_says_it(tmp_path: Path, line: str, expected: bool) -> None:
    (tmp_path / "gemini.yaml").write_text(f"{line}replies:\n  - text: hello\n")
    model = resolve_model(Settings(), {}, "script/gemini.yaml", folder=tmp_path)
    assert sees(model) is expected
