"""`tts` with the real espeak-ng, where it is installed."""

from __future__ import annotations

import asyncio
import io
import re
import wave
from pathlib import Path
from typing import Any

import pytest

from colleague.agent.pictures.media import MediaRef, load_picture
from colleague.agent.speech.espeak import Espeak
from colleague.agent.speech.speech_provider import Speech, SpeechRequest
from colleague.agent.speech.tts_tool import TtsTool, speech_provider
from colleague.agent.streaming.answer import read_answer
from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.config.speech import SpeechSettings
from colleague.gateway.api.media import media_type
from colleague.home import Home

espeak = Espeak.installed()
pytestmark = pytest.mark.skipif(espeak is None, reason="espeak-ng is not installed")


def say(home: Path, **arguments: Any) -> ToolOutput:
    assert espeak is not None
    tool = TtsTool(Home(home), espeak, SpeechSettings(max_text_length=50))
    return asyncio.run(tool.call(ToolRequest("run", "call", "key", arguments)))


def test_a_text_becomes_a_file_that_an_answer_brings(tmp_path: Path) -> None:
    found = say(tmp_path, text="-Good morning, Ada.", voice="en-gb")
    assert not found.is_error, found.text
    answer = read_answer("Listen. " + "".join(re.findall(r"\[\[.*?\]\]", found.text)))
    assert (answer.text, answer.as_voice) == ("Listen.", True)
    [url] = answer.media
    ref = MediaRef.of(url, "audio/wav")
    assert ref is not None
    data = load_picture(Home(tmp_path), ref)
    assert data is not None
    assert media_type(data) == "audio/wav"
    with wave.open(io.BytesIO(data)) as sound:
        assert sound.getnframes() > sound.getframerate() / 2, "it lasts longer than half a second"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"text": "x" * 51}, "it takes 1 to 50"),
        ({"text": " "}, "it takes 1 to 50"),
        ({"text": "hello", "voice": "en -w /tmp/x"}, "is no voice"),
        ({"text": "hello", "voice": "../../etc/passwd"}, "is no voice"),
        ({"text": "hello", "voice": "xx-klingon-none"}, "espeak-ng failed"),
    ],
)
def test_what_cannot_be_said(tmp_path: Path, arguments: dict[str, Any], reason: str) -> None:
    found = say(tmp_path, **arguments)
    assert found.is_error
    assert reason in found.text
    assert not (tmp_path / "state" / "media").exists()


class Bell:
    async def speak(self, request: SpeechRequest) -> Speech:
        return Speech(b"ding", "audio/wav")


def test_who_speaks() -> None:
    bell = Bell()
    assert speech_provider(SpeechSettings(provider="bell"), {"bell": bell}) is bell
    assert speech_provider(SpeechSettings(provider="none"), {"bell": bell}) is None
    assert isinstance(speech_provider(SpeechSettings(), {}), Espeak)
