"""Markdown of models as HTML of ours: whatever HTML it has in it stays text, and nothing is loaded."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LINKS = ("http://", "https://", "mailto:")
LONGEST = 200_000
"""What is longer is shown as it was written: nobody waits for its layout."""


def markdown_html(text: str) -> Markup:
    """Safe to stand in a page."""
    if len(text) > LONGEST:
        return Markup("<pre>{}</pre>").format(text)
    return Markup(_renderer().render(text))  # noqa: S704 - HTML in the text is escaped, see the tests


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    made.enable(["table", "strikethrough"]).disable("image")
    made.validateLink = _is_link  # type: ignore[method-assign, assignment]
    made.add_render_rule("link_open", _link_open)
    for cell in ("th_open", "td_open"):
        made.add_render_rule(cell, _cell_open)
    return made


def _is_link(address: str) -> bool:
    """Only addresses that lead out of the page, and run nothing."""
    return address.strip().lower().startswith(LINKS)


def _link_open(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("target", "_blank")
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, place, options, env))


def _cell_open(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """With a class for how it is aligned: the page allows no style."""
    if tokens[place].attrs.pop("style", None) == "text-align:right":
        tokens[place].attrSet("class", "right")
    return str(renderer.renderToken(tokens, place, options, env))
