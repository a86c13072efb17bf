"""The readable text of a web page."""

from __future__ import annotations

from typing import Any

from colleague.agent.documents.unreadable import Unreadable


def html_text(data: bytes) -> dict[str, Any]:
    """Its main text as Markdown; all of its text when there is no main part."""
    from lxml import html as parser
    from trafilatura import extract, load_html

    page = load_html(data)
    if page is None:
        if data.strip():
            raise Unreadable("it is no HTML that can be read")
        return {"text": "", "title": ""}
    title = " ".join((page.findtext(".//title") or "").split())
    whole = _all_text(parser.tostring(page))
    text = extract(page, output_format="markdown", include_links=True, include_tables=True, favor_recall=True)
    return {"text": text or whole, "title": title}


def _all_text(markup: bytes) -> str:
    from lxml import etree, html

    page = html.fromstring(markup)
    etree.strip_elements(page, "script", "style", "noscript", "template", "head", with_tail=False)
    lines = (" ".join(line.split()) for line in page.itertext())
    return "\n".join(line for line in lines if line)
