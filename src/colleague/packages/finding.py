"""What validation has to say, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from colleague.packages.mark import Mark
from colleague.packages.names import BINDINGS
from colleague.packages.rule import RULES, Group, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    code: str
    file: str
    line: int
    message: str
    hint: str

    @property
    def group(self) -> Group:
        return "bindings" if self.file == BINDINGS else RULES[self.code][1]

    def as_dict(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Findings:
    """Collects findings while a package is read; a finding already said is not said again."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}

    def add(self, code: str, at: Mark, message: str, hint: str = "") -> None:
        severity, _, _ = RULES[code]
        self._found[Finding(severity, code, at.file, at.line, message, hint)] = None

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
