"""The text of office files: documents, sheets and slides."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any

from colleague.agent.documents.unreadable import MOST_CHARACTERS, Unreadable

MOST_UNPACKED = 100_000_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class OfficeArchive:
    """The parts of an office file, unpacked as far as a limit."""

    def __init__(self, data: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        if sum(each.file_size for each in self._archive.infolist()) > MOST_UNPACKED:
            raise Unreadable(f"it has more than {MOST_UNPACKED:,} bytes unpacked")

    def part(self, name: str) -> Any:
        """The root element of a part; None when there is no such part."""
        from defusedxml.ElementTree import fromstring

        try:
            with self._archive.open(name) as stream:
                data = stream.read(MOST_UNPACKED + 1)
        except KeyError:
            return None
        return fromstring(data)

    def links(self, name: str) -> dict[str, tuple[str, str]]:
        """What a part refers to: kind and name of each other part, by id."""
        folder, file = posixpath.split(name)
        root = self.part(f"{folder}/_rels/{file}.rels")
        found = {}
        for each in root if root is not None else ():
            target = posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/")
            found[each.get("Id", "")] = (each.get("Type", "").rpartition("/")[2], target)
        return found


def docx_text(data: bytes) -> str:
    root = OfficeArchive(data).part("word/document.xml")
    if root is None:
        raise Unreadable("it is no Word document")
    body = root.find(f"{_WORD}body")
    return "\n".join(_blocks(body, _WORD)) + "\n" if body is not None else ""


def pptx_text(data: bytes) -> str:
    archive, main = OfficeArchive(data), "ppt/presentation.xml"
    root = archive.part(main)
    if root is None:
        raise Unreadable("it is no presentation")
    links = archive.links(main)
    slides = [each.get(_LINK, "") for each in root.iter() if each.tag.endswith("}sldId")]
    parts = [
        _slide(archive, links[each][1], number) for number, each in enumerate(slides, 1) if each in links
    ]
    return "\n\n".join(parts) + "\n"


def _slide(archive: OfficeArchive, name: str, number: int) -> str:
    lines = [f"[slide {number}]", *_drawn(archive, name)]
    notes = [target for kind, target in archive.links(name).values() if kind == "notesSlide"]
    for each in notes:
        if told := _drawn(archive, each):
            lines += ["Notes:", *told]
    return "\n".join(lines)


def _drawn(archive: OfficeArchive, name: str) -> list[str]:
    root = archive.part(name)
    return [line for line in _blocks(root, _DRAWING) if line.strip()] if root is not None else []


def _blocks(parent: Any, space: str) -> Iterator[str]:
    """Paragraphs as lines, rows of tables as lines with their cells between bars."""
    for child in parent:
        if child.tag == f"{space}p":
            yield _paragraph(child, space)
        elif child.tag == f"{space}tr":
            cells = [" ".join(_blocks(cell, space)).strip() for cell in child if cell.tag == f"{space}tc"]
            yield f"| {' | '.join(cells)} |"
        else:
            yield from _blocks(child, space)


def _paragraph(paragraph: Any, space: str) -> str:
    marks = {f"{space}tab": "\t", f"{space}br": "\n", f"{space}cr": "\n"}
    words = [
        (each.text or "") if each.tag == f"{space}t" else marks.get(each.tag, "") for each in paragraph.iter()
    ]
    style = paragraph.find(f"{space}pPr/{space}pStyle")
    name = (style.get(f"{space}val") or "").lower() if style is not None else ""
    level = name.removeprefix("heading") if name.startswith("heading") else ""
    return f"{'#' * int(level)} {''.join(words)}" if level in tuple("123456") and words else "".join(words)


def xlsx_text(data: bytes) -> str:
    from openpyxl import load_workbook

    OfficeArchive(data)
    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    parts: list[str] = []
    left = MOST_CHARACTERS
    for sheet in book.worksheets:
        parts.append(f"[sheet {sheet.title}]")
        for row in sheet.iter_rows(values_only=True):
            line = "\t".join("" if value is None else _cell(value) for value in row).rstrip()
            left -= len(line) + 1
            if left < 0:
                return "\n".join(parts)
            parts.append(line)
    return "\n".join(parts) + "\n"


def _cell(value: Any) -> str:
    return " ".join(str(value).split("\n"))
