"""Speech by espeak-ng, where it is installed."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from dataclasses import dataclass

from colleague.agent.speech.speech_provider import Speech, SpeechRequest
from colleague.errors import ColleagueError

PROGRAM = "espeak-ng"
_VOICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_-]{0,40}")


class SpeechFailed(ColleagueError):
    """Nothing was said."""


@dataclass(frozen=True)
class Espeak:
    """Runs the program for each text; the text goes in on standard input and is never an argument."""

    program: str

    @classmethod
    def installed(cls) -> Espeak | None:
        found = shutil.which(PROGRAM)
        return cls(found) if found else None

    async def speak(self, request: SpeechRequest) -> Speech:
        return await asyncio.to_thread(self._speak, request)

    def _speak(self, request: SpeechRequest) -> Speech:
        command = [self.program, "--stdin", "--stdout", "-b", "1", "-v", _checked(request.voice or "en")]
        try:
            ended = subprocess.run(
                command,
                input=request.text.encode(),
                capture_output=True,
                timeout=request.seconds,
                check=False,
                env={},
            )
        except subprocess.TimeoutExpired:
            raise SpeechFailed(f"{PROGRAM} took longer than {request.seconds:g} seconds") from None
        except OSError as error:
            raise SpeechFailed(f"{PROGRAM} cannot be started: {error.strerror}") from None
        if ended.returncode or not ended.stdout.startswith(b"RIFF"):
            said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SpeechFailed(f"{PROGRAM} failed: {said[0][:200] if said else 'it said nothing'}")
        return Speech(_with_sizes(ended.stdout), "audio/wav")


def _checked(voice: str) -> str:
    if not _VOICE.fullmatch(voice):
        raise SpeechFailed(f"{voice[:50]!r} is no voice", hint="such as en, en-gb or de+f3")
    return voice


def _with_sizes(data: bytes) -> bytes:
    """A program that writes into a pipe cannot know the sizes at the beginning; players want them."""
    if data[36:40] != b"data":
        return data
    riff, body = (len(data) - 8).to_bytes(4, "little"), (len(data) - 44).to_bytes(4, "little")
    return data[:4] + riff + data[8:40] + body + data[44:]
