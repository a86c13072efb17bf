"""Text of others as the model is given it: an element with its source, which the text cannot close."""

from __future__ import annotations

import re

_UNSEEN = r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*+"
_GAP = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*+"
_SIGNS = "<\ufe64\uff1c"
_CLOSING = re.compile(rf"([{_SIGNS}]{_GAP})[/\u2044\u2215\uff0f](?={_GAP}(?i:{_UNSEEN.join('data')}))")
"""Whatever could be taken for the end of a wrapper."""
_MARKUP = re.compile(rf'["<>{_SIGNS}\ufe65\uff1e\uff02\u201c\u201d]|[^\S ]|[\x00-\x1f\x7f-\x9f]')
"""What a source may not have in it: the name of a person, a tool or a file is no markup."""
LONGEST_SOURCE = 300


def wrapped(text: str, source: str) -> str:
    """Whatever stands inside is data with a source; it cannot close the wrapper itself."""
    safe = _CLOSING.sub(r"\1\\/", text) if any(sign in text for sign in _SIGNS) else text
    name = " ".join(_MARKUP.sub("'", source).split())[:LONGEST_SOURCE]
    return f'<data source="{name}">\n{safe}\n</data>'
