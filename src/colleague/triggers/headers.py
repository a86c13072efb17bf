"""The headers of a request that nobody has vouched for yet."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.triggers.errors import BadSignature

_LONGEST = 8192
AROUND = " \t"
"""What HTTP lets stand around a value. More than that may be a piece of a letter: "à" ends in a byte 0xA0."""


class Headers:
    """Headers by name, whatever the case. What is there twice, or cannot have come over HTTP, is refused."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in headers.items():
            self._values.setdefault(name.lower(), []).append(value)

    def find(self, *names: str) -> str | None:
        """The value of the first of these that is there and not empty."""
        for name in names:
            found = self._values.get(name.lower(), [])
            if len(found) > 1:
                raise BadSignature("header-repeated", f"the header {name} is there {len(found)} times")
            if value := found[0].strip(AROUND) if found else "":
                return _checked(name, value)
        return None

    def get(self, *names: str) -> str:
        value = self.find(*names)
        if value is None:
            raise BadSignature("header-missing", f"the header {' or '.join(names)} is missing")
        return value


def _checked(name: str, value: str) -> str:
    """HTTP carries bytes, which are Latin-1 here."""
    if len(value) > _LONGEST:
        raise BadSignature("header-malformed", f"the header {name} is longer than {_LONGEST} characters")
    if not all(" " <= character <= "\xff" and character != "\x7f" for character in value):
        raise BadSignature("header-malformed", f"the header {name} holds a character that no header can")
    return value
