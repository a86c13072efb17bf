"""Names that no expert may have, because something else in the runtime is called so."""

from __future__ import annotations

import unicodedata

from colleague.main_names import MAIN_AGENT

_RESERVED = {
    MAIN_AGENT: "it is the name of the main agent",
    "agent": "session keys of agents begin with it",
    "dry-run": "the files of dry runs are kept under it",
    "session": "lanes of sessions are called so",
    "gmail": "it is an address of its own, /hooks/gmail",
}
_DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)),
}
_SEPARATORS = ":#/\\"


def name_problem(name: str) -> str:
    """Why an expert cannot have this name; empty when it can. Capitals and lookalikes make no difference."""
    plain = unicodedata.normalize("NFKC", name).casefold().strip()
    if plain in _RESERVED:
        return f"the name {name[:60]!r} is reserved: {_RESERVED[plain]}"
    if is_device(plain):
        return f"the name {name[:60]!r} is reserved: it is a device on Windows"
    found = [each for each in _SEPARATORS if each in plain]
    if found:
        return f"the name {name[:60]!r} cannot be used: it has {found[0]!r}, which separates names in keys"
    return ""


def is_device(name: str) -> bool:
    """Whether Windows takes a file of this name for a device, whatever its ending."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return plain.partition(".")[0].strip() in _DEVICES
