"""`read` of PDF and office files, honest and hostile."""

from __future__ import annotations

import io
import zipfile
from datetime import date

import pytest
from openpyxl import Workbook

from colleague.agent.documents.office import MOST_UNPACKED
from tests.integration.tools.desk import Desk

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def archive(**parts: str) -> bytes:
    """Parts by their path, with __ for a slash."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name.replace("__", "/") + ("" if name.endswith(".rels") else ".xml"), text)
    return data.getvalue()


def word(body: str) -> bytes:
    return archive(word__document=f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')


def pdf(text: str) -> bytes:
    """One page, written by hand."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = "%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    ending = f"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
    return (data + f"xref\n0 6\n0000000000 65535 f \n{table}" + ending).encode()


def read(desk: Desk, name: str, data: bytes) -> str:
    desk.file(f"state/{name}").write_bytes(data)
    found = desk.call("read", path=f"state/{name}")
    assert not found.is_error
    return found.text


def test_a_pdf(sqlite_desk: Desk) -> None:
    assert read(sqlite_desk, "offer.pdf", pdf("Forty licences")) == "[page 1]\nForty licences\n"
    assert sqlite_desk.call("read", path="state/offer.pdf").source == "file:state/offer.pdf"


def test_a_word_document(sqlite_desk: Desk) -> None:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Offer</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>Dear </w:t></w:r><w:r><w:t>Ada</w:t><w:tab/><w:t>!</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    assert read(sqlite_desk, "offer.docx", word(body)) == "## Offer\nDear Ada\t!\n| a | b |\n"


def test_a_workbook_with_dates(sqlite_desk: Desk) -> None:
    book, data = Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.title = "Pipeline"
    book.active.append(["Ada", 40, date(2026, 3, 1), None, "last"])
    book.create_sheet("Second").append([True])
    book.save(data)
    text = read(sqlite_desk, "pipeline.xlsx", data.getvalue())
    assert text == "[sheet Pipeline]\nAda\t40\t2026-03-01 00:00:00\t\tlast\n[sheet Second]\nTrue\n"


def test_slides_in_their_order_with_notes(sqlite_desk: Desk) -> None:
    def slide(text: str) -> str:
        run = f'<a:p xmlns:a="{DRAWING}"><a:r><a:t>{text}</a:t></a:r></a:p>'
        return f'<p:sld xmlns:p="{SLIDES}"><p:txBody>{run}</p:txBody></p:sld>'

    def links(**targets: str) -> str:
        kinds = {name: "notesSlide" if "notes" in path else "slide" for name, path in targets.items()}
        each = "".join(
            f'<Relationship Id="{name}" Type="x/{kinds[name]}" Target="{path}"/>'
            for name, path in targets.items()
        )
        return f'<Relationships xmlns="{PACKAGE}">{each}</Relationships>'

    ids = '<p:sldId r:id="r2"/><p:sldId r:id="r1"/>'
    data = archive(
        **{
            "ppt__presentation": (
                f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{LINKS}"><p:sldIdLst>{ids}</p:sldIdLst>'
                "</p:presentation>"
            ),
            "ppt___rels__presentation.xml.rels": links(r1="slides/slide1.xml", r2="slides/slide2.xml"),
            "ppt__slides__slide1": slide("second"),
            "ppt__slides__slide2": slide("first"),
            "ppt__slides___rels__slide1.xml.rels": links(n="../notesSlides/notes1.xml"),
            "ppt__notesSlides__notes1": slide("say it slowly"),
        }
    )
    text = read(sqlite_desk, "talk.pptx", data)
    assert text == "[slide 1]\nfirst\n\n[slide 2]\nsecond\nNotes:\nsay it slowly\n"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("broken.pdf", b"%PDF-1.7 and so on", "damaged"),
        ("other.docx", archive(xl__workbook="<a/>"), "it is no Word document"),
        ("entities.docx", archive(word__document='<!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>'), "damaged"),
        (
            "bomb.docx",
            archive(word__document="0" * (MOST_UNPACKED + 1)),
            "more than 100,000,000 bytes unpacked",
        ),
        ("deep.docx", word("<w:sdt>" * 20_000 + "</w:sdt>" * 20_000), "it is too large"),
        ("plain.zip", archive(a="a"), "which is not shown as text."),
    ],
)
def test_what_cannot_be_read_is_said(sqlite_desk: Desk, name: str, data: bytes, reason: str) -> None:
    text = read(sqlite_desk, name, data)
    assert text.startswith(f"state/{name} is a ")
    assert reason in text


def test_a_pdf_that_unpacks_without_end_is_given_up(sqlite_desk: Desk) -> None:
    page = pdf("x" * 10)
    loop = page.replace(b"/Kids [3 0 R]", b"/Kids [2 0 R]")
    assert "not shown as text" in read(sqlite_desk, "loop.pdf", loop)
