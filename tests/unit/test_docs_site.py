"""The documentation as pages: every file has a place, no link is dead, nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from colleague.gateway.page.docs_pages import GROUPS, DocsFolder

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"


class Seen(HTMLParser):
    """What a browser would follow, load and jump to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.scripts: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        if tag == "script":
            self.scripts.append(Path(given.get("src") or "inline").name)
        self.ids.add(given.get("id") or "")
        if tag == "a":
            self.links.append(given.get("href") or "")
        else:
            self.loaded += [given[name] or "" for name in ("src", "href", "srcset") if name in given]


def in_docs(name: str, fragment: str) -> str:
    return f"/docs/{name}#{fragment}".rstrip("#")


@cache
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_script", REPOSITORY / "scripts" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Seen]:
    target = tmp_path_factory.mktemp("site")
    return {file: Seen(file.read_text()) for file in builder().build(DOCS, target)}


def test_every_file_has_its_place_in_the_navigation() -> None:
    files = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - {"README"}
    listed = [name for _, names in GROUPS for name in names]
    assert sorted(listed) == sorted(files)


def test_no_link_is_dead(site: dict[Path, Seen]) -> None:
    dead = []
    for file, seen in site.items():
        for link in seen.links:
            if link.startswith(("http://", "https://")):
                continue
            path, _, fragment = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            if target not in site or (fragment and fragment not in site[target].ids):
                dead.append(f"{file.name}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Seen]) -> None:
    for file, seen in site.items():
        assert not seen.tags & {"iframe", "style"}, file
        assert seen.scripts == ["docs.js"], "no script stands in a page"
        for address in seen.loaded:
            assert "//" not in address, f"{file.name}: {address}"
            assert (file.parent / address).is_file(), f"{file.name}: {address}"
    for style in ("page.css", "docs.css"):
        text = (next(iter(site)).parent / "static" / style).read_text()
        assert not re.search(r"url\(|@import", text)


def test_the_links_of_the_files_are_those_of_the_pages(site: dict[Path, Seen]) -> None:
    """What stands in a file and leads to another page does so on the page."""
    by_name = {file.name: seen for file, seen in site.items()}
    assert "durable.html" in by_name["about.html"].links
    assert "../running-in-production.html#settings-that-have-no-effect" in by_name["settings.html"].links


class TestSearch:
    def test_all_words_have_to_be_there(self) -> None:
        docs = DocsFolder(DOCS)
        hits = docs.search("dead letter")
        assert hits[0].name == "concepts" or "dead" in f"{hits[0].title} {hits[0].heading}".lower()
        assert docs.search("dead letter zzyzx") == []
        assert docs.search("   ") == []

    def test_a_hit_leads_to_its_heading(self) -> None:
        docs = DocsFolder(DOCS)
        for hit in docs.search("approval"):
            page = docs.page(hit.name, in_docs)
            assert page is not None
            assert not hit.fragment or f'id="{hit.fragment}"' in unescape(page.body)

    def test_the_index_of_the_site_has_every_section(self, site: dict[Path, Seen]) -> None:
        top = next(file for file in site if file.name == "index.html").parent
        script = (top / "static" / "search-index.js").read_text()
        sections = json.loads(script.removeprefix("colleagueDocs(").removesuffix(");\n"))
        assert {name for name, *_ in sections} == set(DocsFolder(DOCS).names)
        for name, _, _, fragment, _ in sections:
            assert not fragment or fragment in site[top / f"{name}.html"].ids
        assert len(script) < 1_000_000


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> DocsFolder:
        (tmp_path / "docs").mkdir()
        (tmp_path / "secret.png").write_bytes(b"x")
        (tmp_path / "docs" / "shot.png").write_bytes(b"x")
        text = "# About\n\n[out](../x.py) [gone](gone.md) ![shot](shot.png) [web](https://example.com)\n"
        (tmp_path / "docs" / "about.md").write_text(text)
        return DocsFolder(tmp_path / "docs")

    def test_what_leads_nowhere_is_plain_text(self, folder: DocsFolder) -> None:
        page = folder.page("about", in_docs)
        assert page is not None
        assert '<img src="/docs/shot.png"' in page.body
        assert 'href="https://example.com" rel="noreferrer"' in page.body
        assert page.body.count("<a ") == 1
        assert "out gone" in page.body

    @pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "about.md", "x/../../secret.png", ""])
    def test_only_pictures_of_the_folder_are_shown(self, folder: DocsFolder, name: str) -> None:
        assert folder.picture(name) is None
        assert folder.page(name, in_docs) is None
