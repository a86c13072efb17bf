"""Settings of speech."""

from colleague.config.section import Positive, Section, keys, works


class SpeechSettings(Section):
    passed_over = keys(
        "auto mode modelOverrides providers elevenlabs openai edge microsoft summaryModel prefsPath enabled"
        " persona personas timeoutMs"
    )

    provider: str | None = works(
        default=None, description="Who speaks: espeak-ng, or a plugin's; espeak-ng when not set."
    )
    voice: str | None = works(default=None, description="The voice, as the provider calls it.")
    max_text_length: Positive = works(default=1_500, description="Characters said at once.")
    timeout_seconds: Positive = works(default=30, description="Seconds one text may take.")
