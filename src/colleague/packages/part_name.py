"""The name of a part of a package: a word, never a path."""

from __future__ import annotations

import re

from colleague.packages.fields import Fields
from colleague.packages.finding import Findings
from colleague.packages.mark import Mark

DRIVE = re.compile(r"[A-Za-z]:")


def part_name(fields: Fields, *, required: bool = True) -> str:
    """The field `name`; one that is a path is reported."""
    name = fields.required_text("name") if required else fields.text("name")
    require_no_path(name, fields.mark("name"), fields.findings)
    return name


def require_no_path(name: str, at: Mark, findings: Findings) -> bool:
    """False, with a finding, when `name` would lead to another place than it is looked for."""
    if not is_path(name):
        return True
    message = f"the name {name[:60]!r} is a path"
    findings.add("name-path", at, message, "use a plain word with dashes, such as next-action")
    return False


def is_path(name: str) -> bool:
    """Whether a file system would take `name` for more than the name of one file."""
    apart = any(each in name for each in "/\\\0")
    return apart or name.strip() in (".", "..") or name.startswith("~") or bool(DRIVE.match(name))
