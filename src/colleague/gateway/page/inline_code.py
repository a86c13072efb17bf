"""Texts of packages on a page: what stands between backticks is shown as code."""

from __future__ import annotations

import re

from markupsafe import Markup

_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def inline_code(text: str) -> Markup:
    """Everything else stays text, whatever it looks like."""
    made, end = Markup(), 0
    for found in _CODE.finditer(text):
        made += text[end : found.start()] + Markup("<code>{}</code>").format(found[1])
        end = found.end()
    return made + text[end:]
