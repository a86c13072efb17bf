"""The tool that says a text as sound."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from colleague.agent.pictures.media import keep_picture
from colleague.agent.pictures.picture import MOST_BYTES
from colleague.agent.speech.espeak import PROGRAM, Espeak
from colleague.agent.speech.speech_provider import SpeechProvider, SpeechRequest
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import ArgumentError, Arguments, parameters, text
from colleague.config import Settings
from colleague.config.speech import SpeechSettings
from colleague.errors import ColleagueError
from colleague.home import Home
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class SpeechTools:
    """Gives `tts` where something can speak."""

    home: Home
    speech_providers: Mapping[str, SpeechProvider] = field(default_factory=dict)
    """What plugins bring, by name."""

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        speech = settings.messages.tts
        provider = speech_provider(speech, self.speech_providers)
        return (TtsTool(self.home, provider, speech),) if provider is not None else ()


def speech_provider(settings: SpeechSettings, plugins: Mapping[str, SpeechProvider]) -> SpeechProvider | None:
    """Who speaks; None when nobody can."""
    if settings.provider and settings.provider != PROGRAM:
        return plugins.get(settings.provider)
    return Espeak.installed()


@dataclass(frozen=True)
class TtsTool:
    """`tts`: a text becomes a media file that an answer can bring."""

    home: Home
    provider: SpeechProvider
    settings: SpeechSettings

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="tts",
            description=(
                "Says a text as sound and keeps it. It reaches people only when your answer brings it, with "
                "the marks that this tool returns."
            ),
            parameters=parameters(
                "text",
                text=text(f"What is said; at most {self.settings.max_text_length:,} characters"),
                voice=text("A voice of the provider, such as en or de; its usual one when not given"),
            ),
            read_only=True,
            repeatable=True,
        )

    async def call(self, request: ToolRequest) -> ToolOutput:
        try:
            return await self._answer(Arguments.of(self.spec, request.arguments))
        except ColleagueError as error:
            return refused(error)

    async def _answer(self, arguments: Arguments) -> ToolOutput:
        said, most = arguments.text("text").strip(), self.settings.max_text_length
        if not said or len(said) > most:
            raise ArgumentError(f"tts: the text has {len(said):,} characters; it takes 1 to {most:,}.")
        voice = arguments.text("voice", "").strip() or self.settings.voice or ""
        speech = await self.provider.speak(SpeechRequest(said, voice, self.settings.timeout_seconds))
        if len(speech.data) > MOST_BYTES:
            raise ArgumentError("tts: the sound is too large to be kept; say it in several parts.")
        kept = await asyncio.to_thread(keep_picture, self.home, speech.data, speech.media_type)
        return ToolOutput(
            f"Kept as {kept.url} ({speech.media_type}, {len(speech.data):,} bytes). To bring it, write "
            f"[[media:{kept.url}]] in your answer, and [[audio_as_voice]] to have it played as a voice "
            "message."
        )
