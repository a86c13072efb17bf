"""References to pictures in a text."""

from __future__ import annotations

import pytest

from colleague.agent.pictures.references import Reference, references


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("look at pics/a.png.", "pics/a.png"),
        ("(see ./a.JPEG)", "./a.JPEG"),
        ("a.webp, please", "a.webp"),
        ("/home/ada/a.gif?", "/home/ada/a.gif"),
        ("~/a.jpg!", "~/a.jpg"),
        ("@pics/a.png what is it", "pics/a.png"),
        (r"/home/ada/My\ Photo.png", "/home/ada/My Photo.png"),
        ('open "my photo (1).png" now', "my photo (1).png"),
        ("it's in 'my photo.png'", "my photo.png"),
        ("`a.png`", "a.png"),
        ("größe/übersicht.png", "größe/übersicht.png"),
        ("see:a.png", "a.png"),
    ],
)
def test_paths(text: str, target: str) -> None:
    assert references(text) == [Reference(target, explicit=False)]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[[media:pics/a b.png]]", "pics/a b.png"),
        ("[[media:file:///srv/a.png]]", "/srv/a.png"),
        ("[[media:https://example.com/a]]", "https://example.com/a"),
        ("![a chart](pics/a.png)", "pics/a.png"),
        ('![](pics/a%20b.png "A title")', "pics/a b.png"),
        ("![](<pics/a (b).png>)", "pics/a (b).png"),
        ("![](no-ending)", "no-ending"),
        ("file:///home/ada/my%20photo.png.", "/home/ada/my photo.png"),
        ("file://localhost/a.png", "/a.png"),
        ("https://example.com/a.png?size=2", "https://example.com/a.png?size=2"),
        ("<http://example.com/a.jpg>", "http://example.com/a.jpg"),
    ],
)
def test_explicit(text: str, target: str) -> None:
    assert references(text) == [Reference(target, explicit=True)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing here",
        "https://example.com/page",
        "file://server/share/a.png",
        "![](data:image/png;base64,AAAA)",
        "a.pngx and png and .pn",
        "![unclosed](a",
        "[[media:]]",
        "mail me at a@b.com",
        "file://[::1",
    ],
)
def test_none(text: str) -> None:
    assert references(text) == []


def test_each_once_and_in_order() -> None:
    text = "b.png, ![](a.png), b.png and 'c d.png'"
    assert [each.target for each in references(text)] == ["b.png", "a.png", "c d.png"]


@pytest.mark.parametrize("piece", ["a", "![", "[[media:", "'", "\\", '"a', "](", "file://", "a.png", "![a]("])
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    """Quadratic time would hang here."""
    assert len(references(piece * 1_000_000)) <= 1
