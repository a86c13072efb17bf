"""Session labels: short names that people give to sessions, taken wherever a key is."""

from __future__ import annotations

from colleague.errors import UsageError
from colleague.plain_text import plain
from colleague.session_key import BadSessionKey, SessionKey, is_key

MAX_LABEL = 64
_EXPERT = "expert:"
_KEY_BEGINNINGS = ("agent:", "subagent:", "acp:", _EXPERT)


class BadSessionLabel(UsageError):
    """A text that cannot be the label of a session."""


def parse_label(text: str) -> str:
    """The label without spaces around it. Raises BadSessionLabel."""
    label = text.strip()
    if not label:
        raise BadSessionLabel("the label is empty", hint="give it a name, such as travel plans")
    if len(label) > MAX_LABEL:
        raise BadSessionLabel(f"the label has {len(label)} characters; {MAX_LABEL} at most are allowed")
    if not label.isprintable():
        raise BadSessionLabel(f"the label '{plain(label)}' has control characters")
    if label.casefold().startswith(_KEY_BEGINNINGS) or is_key(label):
        raise BadSessionLabel(f"the label '{label}' looks like a session key", hint="choose another name")
    return label


def expert_label(expert: str) -> str:
    """The label that every expert has: `expert:<name>`."""
    return _EXPERT + expert


def labelled_expert(text: str) -> str | None:
    """The expert that a label `expert:<name>` stands for; None for any other text."""
    try:
        key = SessionKey.parse(text.strip()) if text.strip().startswith(_EXPERT) else None
    except BadSessionKey:
        return None
    return key.expert if key and key.kind == "expert" else None
