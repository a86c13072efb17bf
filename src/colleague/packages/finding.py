"""What validation has to say, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.rule import RULES, Group, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing validation has to say: a rule, a place, a sentence, and what to do about it."""

    severity: Severity
    code: str
    file: str
    line: int
    message: str
    hint: str

    @property
    def group(self) -> Group:
        """What is wrong with the text of bindings.yaml is a matter of bindings, not of the package."""
        group = RULES[self.code][1]
        return "bindings" if self.file == BINDINGS and group in ("structure", "references") else group

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST = 400


class Findings:
    """Collects findings while a package is read; a finding already said is not said again."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}

    def add(self, code: str, at: Mark, message: str, hint: str = "") -> None:
        severity, _, _ = RULES[code]
        file, message, hint = _escaped(at.file), _escaped(message), _escaped(hint)
        self._found[Finding(severity, code, file, at.line, message, hint)] = None

    def __iter__(self) -> Iterator[Finding]:
        """Errors first, then by place."""
        return iter(sorted(self._found, key=lambda f: (f.severity, f.file, f.line, f.code)))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self if finding.severity == "error"]

    @property
    def ok(self) -> bool:
        return not any(finding.severity == "error" for finding in self._found)


def _escaped(text: str) -> str:
    """A file name, or what a server said, may hold what would break or steer whatever prints the finding."""
    shown = _CONTROL.sub("?", text.encode(errors="replace").decode())
    return shown if len(shown) <= _MOST else shown[: _MOST - 3] + "..."
