"""Writes the documentation as a folder of HTML files that need no server and load nothing from elsewhere."""

from __future__ import annotations

import posixpath
import shutil
import sys
from importlib import resources
from pathlib import Path

from colleague.gateway.page.docs_pages import FIRST, DocsFolder
from colleague.gateway.page.render import fragment

REPOSITORY = Path(__file__).parents[1]
STATIC = ("page.css", "docs.css", "docs.js", "icon.svg")


def build(docs: Path, target: Path) -> list[Path]:
    """Every page; the first one also as index.html. Returns what was written."""
    folder = DocsFolder(docs)
    written = [write_page(folder, name, target / f"{name}.html") for name in folder.names]
    written.append(write_page(folder, FIRST, target / "index.html"))
    static = target / "static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "search-index.js").write_text(folder.index_script, encoding="utf-8")
    for name in STATIC:
        source = resources.files("colleague.gateway.page") / "static" / name
        (static / name).write_bytes(source.read_bytes())
    for picture in docs.rglob("*"):
        name = picture.relative_to(docs).as_posix()
        if folder.picture(name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, target / name)
    return written


def write_page(folder: DocsFolder, name: str, file: Path) -> Path:
    root = "../" * name.count("/")

    def link(to: str, fragment: str = "") -> str:
        path = posixpath.join(root, to if folder.picture(to) else f"{to}.html")
        return f"{path}{f'#{fragment}' if fragment else ''}"

    doc = folder.page(name, link)
    text = fragment("docs_static.html", doc=doc, groups=folder.groups(), name=name, link=link, root=root)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "build" / "site"
    print(f"{len(build(REPOSITORY / 'docs', target))} pages in {target}")  # noqa: T201
