"""Whatever a model writes, the page gets markup of ours and nothing else."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from colleague.gateway.page.chat.items import parted
from colleague.gateway.page.markdown import LINKS, LONGEST, markdown_html

TAGS = set(re.findall(r"\w+", "h1 h2 h3 h4 h5 h6 p br hr a strong em s code pre ul ol li blockquote"))
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"href", "title", "target", "rel", "class", "start"}
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)>",
    "<style>*{display:none}</style>",
    "<form action=/logout method=post><button>x</button></form>",
    "[a](javascript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:x) [b](file:///etc/passwd) [c](/logout) [d](//evil.example)",
    '[a](https://e.example/"onmouseover="alert(1))',
    '[a](https://e.example "x\\" onmouseover=alert(1)")',
    "<javascript:alert(1)>",
    "![a](https://evil.example/p.png) ![b](data:image/svg+xml,<svg/onload=alert(1)>)",
    '```html" onload="alert(1)\n<b>\n```',
    "<a href='javascript:alert(1)'>a</a>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "[a]: javascript:alert(1)\n\n[a]",
    "| <img src=x onerror=alert(1)> | b |\n|:--|--:|\n| [x](javascript:a) | <b> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<scr<script>ipt>alert(1)</script>",
    "\x00<script>alert(1)</script>",
)


class Found(HTMLParser):
    """The markup of a text, as a browser would find it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_comment(self, data: str) -> None:
        self.tags.add(f"comment {data}")


@pytest.mark.parametrize("text", PAYLOADS)
@pytest.mark.parametrize("around", ["{}", "# {}", "- {}", "> {}", "**{}**", "`{}`", "a\n\n{}\n\nb"])
def test_only_markup_of_ours(text: str, around: str) -> None:
    found = Found(markdown_html(around.format(text)))
    assert found.tags <= TAGS
    assert {name for name, _ in found.attributes} <= ATTRIBUTES
    assert all(value.startswith(LINKS) for name, value in found.attributes if name == "href")


def test_what_people_write_with_it() -> None:
    shown = markdown_html("## Two\n\n- **a** [b](https://e.example)\n\n|x|y|\n|:-|-:|\n|1|2|\n")
    assert {"h2", "ul", "strong", "a", "table"} <= Found(shown).tags
    assert 'rel="noopener noreferrer nofollow"' in shown


def test_a_text_without_end_is_shown_as_it_is() -> None:
    assert markdown_html("*" * (LONGEST + 1)).startswith("<pre>***")


def test_files_behind_a_message_are_taken_apart() -> None:
    text, files = parted(
        'Read it\n\n<data source="file:a.txt">\none\n\ntwo\n</data>\n\n<data source="file:b">\n<b>\n</data>'
    )
    assert text == "Read it"
    assert [(each.name, each.text) for each in files] == [("a.txt", "one\n\ntwo"), ("b", "<b>")]
    assert parted("nothing behind it")[1] == []
