"""Archives that mean harm: each is refused, and nothing of it is left anywhere."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.errors import PackageError
from colleague.packages.archive import LIMITS, unpack_source
from colleague.packages.source import Source, fetched

GOOD = {"expert.yaml": b"name: x\n", "functions/a.md": b"text\n"}


def zipped(file: Path, entries: list[tuple[Any, bytes]]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file


def tarred(file: Path, entries: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(file, "w:gz") as archive:
        for info, data in entries:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file


def tar_info(name: str, **more: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(info, key, value)
    return info


def zip_info(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def refused(file: Path, folder: Path, limits: Any = LIMITS) -> str:
    """Why it is refused; a package of its own beside the bad entry makes no difference."""
    before = set(folder.rglob("*"))
    place = folder / "work"
    place.mkdir()
    with pytest.raises(PackageError) as told:
        unpack_source(Source("archive", str(file)), place, lambda _: None, limits)
    assert not any(path.is_symlink() for path in place.rglob("*"))
    shutil.rmtree(place)
    assert set(folder.rglob("*")) == before
    return told.value.message


NAMES = {
    "../escape.md": "leads out of the archive",
    "a/../../escape.md": "leads out of the archive",
    "a/..": "leads out of the archive",
    "/etc/escape.md": "absolute path",
    "~/escape.md": "absolute path",
    "C:/escape.md": "Windows",
    "C:escape.md": "Windows",
    "a\\..\\escape.md": "Windows",
    "notes.md:hidden": "Windows",
    "nul": "device",
    "docs/COM1.txt": "device",
    "docs/name. ": "Windows",
    "a//b.md": "empty part",
    "a\nb.md": "characters",
    "a\x1b[2Jb.md": "characters",
    "a\u202eb.md": "characters",
    "n" * 300: "255 bytes",
    "/".join(["d"] * 600): "1,024",
    "/".join(["d"] * 40): "folders deep",
}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:20]))
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_could_do_harm(name: str, kind: str, tmp_path: Path) -> None:
    if kind == "zip":
        file = zipped(tmp_path / "x.zip", [("expert.yaml", b"a"), (zipfile.ZipInfo(name), b"b")])
    else:
        file = tarred(tmp_path / "x.tgz", [(tar_info("expert.yaml"), b"a"), (tar_info(name), b"b")])
    assert NAMES[name] in refused(file, tmp_path)


def test_a_nul_in_a_name(tmp_path: Path) -> None:
    file = zipped(tmp_path / "x.zip", [("aXb.md", b"a")])
    file.write_bytes(file.read_bytes().replace(b"aXb.md", b"a\0b.md"))
    assert "characters" in refused(file, tmp_path)
    file = tarred(tmp_path / "x.tgz", [(tar_info("a", pax_headers={"path": "a\0b.md"}), b"a")])
    assert "characters" in refused(file, tmp_path)


TWINS = [
    (["a.md", "a.md"], "twice"),
    (["a.md", "./a.md"], "twice"),
    (["README.md", "readme.md"], "same name"),
    (["Docs/a.md", "docs/b.md"], "same name"),
    (["caf\u00e9.md", "cafe\u0301.md"], "same name"),
    (["stra\u00dfe.md", "strasse.md"], "same name"),
    (["a", "a/b.md"], "at once"),
    (["a/b.md", "a"], "at once"),
]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("names", "why"), TWINS, ids=[str(names) for names, _ in TWINS])
def test_two_names_that_are_one(names: list[str], why: str, tmp_path: Path) -> None:
    assert why in refused(zipped(tmp_path / "x.zip", [(name, b"a") for name in names]), tmp_path)
    assert why in refused(tarred(tmp_path / "x.tgz", [(tar_info(name), b"a") for name in names]), tmp_path)


LINKS = ["/etc/passwd", "../outside", "a/../../outside", "..", "", "~/x", "a\\b"]


@pytest.mark.parametrize("target", LINKS)
def test_a_symbolic_link_that_leads_out(target: str, tmp_path: Path) -> None:
    link = (zip_info("link", stat.S_IFLNK | 0o777), target.encode())
    assert "link" in refused(zipped(tmp_path / "x.zip", [("expert.yaml", b"a"), link]), tmp_path)
    info = tar_info("link", type=tarfile.SYMTYPE, linkname=target)
    assert "link" in refused(tarred(tmp_path / "x.tgz", [(info, b"")]), tmp_path)


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_behind_a_link(order: int, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    entries = [
        (tar_info("d", type=tarfile.SYMTYPE, linkname="e"), b""),
        (tar_info("d/x.md"), b"a"),
    ][::order]
    assert "at once" in refused(tarred(tmp_path / "x.tgz", entries), tmp_path)
    pair: list[tuple[Any, bytes]] = [(zip_info("d", stat.S_IFLNK | 0o777), b"e"), ("d/x.md", b"a")]
    assert "at once" in refused(zipped(tmp_path / "x.zip", pair[::order]), tmp_path)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "missing.md", "later.md"])
def test_a_hard_link_to_what_is_no_file_before_it(target: str, tmp_path: Path) -> None:
    link = tar_info("link", type=tarfile.LNKTYPE, linkname=target)
    entries = [(tar_info("first.md"), b"a"), (link, b""), (tar_info("later.md"), b"b")]
    assert "hard link" in refused(tarred(tmp_path / "x.tgz", entries), tmp_path)


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"])
def test_devices_and_pipes(kind: bytes, tmp_path: Path) -> None:
    file = tarred(tmp_path / "x.tgz", [(tar_info("thing", type=kind), b"")])
    assert "neither a file" in refused(file, tmp_path)


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_devices_and_pipes_in_a_zip(kind: int, tmp_path: Path) -> None:
    assert "neither a file" in refused(
        zipped(tmp_path / "x.zip", [(zip_info("thing", kind | 0o666), b"")]), tmp_path
    )


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
def test_files_that_run_as_somebody_else(mode: int, tmp_path: Path) -> None:
    assert "setuid" in refused(tarred(tmp_path / "x.tgz", [(tar_info("run", mode=mode), b"a")]), tmp_path)
    file = zipped(tmp_path / "x.zip", [(zip_info("run", stat.S_IFREG | mode), b"a")])
    assert "setuid" in refused(file, tmp_path)


def test_an_encrypted_entry(tmp_path: Path) -> None:
    file = zipped(tmp_path / "x.zip", [("expert.yaml", b"a")])
    data = bytearray(file.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1
    file.write_bytes(data)
    assert "encrypted" in refused(file, tmp_path)


class TestBombs:
    def test_by_ratio(self, tmp_path: Path) -> None:
        zeros = bytes(9 << 20)
        entries = [(f"{number}.bin", zeros) for number in range(5)]
        assert "200 times" in refused(zipped(tmp_path / "x.zip", list(entries)), tmp_path)
        file = tarred(tmp_path / "x.tgz", [(tar_info(name), data) for name, data in entries])
        assert "200 times" in refused(file, tmp_path)

    def test_by_one_file(self, tmp_path: Path) -> None:
        entry = ("zeros.bin", bytes(11 << 20))
        assert "10,485,760 is the limit" in refused(zipped(tmp_path / "x.zip", [entry]), tmp_path)

    def test_by_a_size_that_is_a_lie(self, tmp_path: Path) -> None:
        """What an entry says of its size is not believed."""
        file = zipped(tmp_path / "x.zip", [("zeros.bin", bytes(11 << 20))])
        data = bytearray(file.read_bytes())
        at = data.index(b"PK\1\2") + 24
        data[at : at + 4] = struct.pack("<L", 100)
        file.write_bytes(data)
        assert refused(file, tmp_path)

    def test_by_total(self, tmp_path: Path) -> None:
        limits = replace(LIMITS, unpacked=1 << 20)
        entries = [(f"{number}.bin", os.urandom(300_000)) for number in range(5)]
        assert "more than 1,048,576 bytes" in refused(
            zipped(tmp_path / "x.zip", list(entries)), tmp_path, limits
        )
        file = tarred(tmp_path / "x.tgz", [(tar_info(name), data) for name, data in entries])
        assert "more than 1,048,576 bytes" in refused(file, tmp_path, limits)

    def test_by_number(self, tmp_path: Path) -> None:
        limits = replace(LIMITS, entries=100)
        names = [f"{number}.md" for number in range(101)]
        assert "100 entries" in refused(
            zipped(tmp_path / "x.zip", [(name, b"") for name in names]), tmp_path, limits
        )
        file = tarred(tmp_path / "x.tgz", [(tar_info(name), b"") for name in names])
        assert "100 entries" in refused(file, tmp_path, limits)

    def test_by_a_header(self, tmp_path: Path) -> None:
        """A name of twenty megabytes, which is twenty kilobytes in the archive."""
        info = tar_info("a", pax_headers={"path": "a" * (20 << 20)})
        assert "header" in refused(tarred(tmp_path / "x.tgz", [(info, b"")]), tmp_path)

    def test_by_its_own_size(self, tmp_path: Path) -> None:
        file = zipped(tmp_path / "x.zip", [("noise.bin", os.urandom(5000))])
        assert "is the limit" in refused(file, tmp_path, replace(LIMITS, size=1000))

    def test_by_headers_in_headers(self, tmp_path: Path) -> None:
        """Each of these names the next, and the library calls itself for each."""
        header = tar_info("x", type=b"L", size=6).tobuf(tarfile.GNU_FORMAT) + b"name\0".ljust(512, b"\0")
        (tmp_path / "x.tgz").write_bytes(gzip.compress(header * 3000 + bytes(1024)))
        assert refused(tmp_path / "x.tgz", tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"PK\5\6" + bytes(10), b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(40), b"hello" * 100]
)
def test_what_is_no_archive(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    assert refused(tmp_path / "x.zip", tmp_path)


def test_one_that_is_cut(tmp_path: Path) -> None:
    file = tarred(tmp_path / "x.tgz", [(tar_info("a.md"), os.urandom(50_000))])
    file.write_bytes(file.read_bytes()[:-1000])
    assert "damaged" in refused(file, tmp_path)


@given(data=st.data())
def test_no_change_of_a_byte_does_harm(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    file = zipped(folder / "x.zip", list(GOOD.items()))
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(raw)
    (folder / "work").mkdir()
    with contextlib.suppress(PackageError):
        unpack_source(Source("archive", str(file)), folder / "work", lambda _: None)
    assert {path.name for path in folder.iterdir()} == {"x.zip", "work"}


def good_zip(file: Path, top: str = "") -> Path:
    link: list[tuple[Any, bytes]] = [(zip_info(f"{top}b.md", stat.S_IFLNK | 0o777), b"functions/a.md")]
    return zipped(file, [*((f"{top}{name}", data) for name, data in GOOD.items()), *link])


def good_tar(file: Path, top: str = "") -> Path:
    entries = [(tar_info(f"{top}{name}", mode=0o755), data) for name, data in GOOD.items()]
    link = tar_info(f"{top}b.md", type=tarfile.SYMTYPE, linkname="functions/a.md")
    same = tar_info(f"{top}c.md", type=tarfile.LNKTYPE, linkname=f"{top}functions/a.md")
    folder = tar_info(top.rstrip("/") or ".", type=tarfile.DIRTYPE)
    return tarred(file, [(folder, b""), *entries, (link, b""), (same, b"")])


@pytest.mark.parametrize("make", [good_zip, good_tar])
@pytest.mark.parametrize("top", ["", "./", "expert-1.2/"])
def test_a_good_one(make: Callable[[Path, str], Path], top: str, tmp_path: Path) -> None:
    file = make(tmp_path / ("x.zip" if make is good_zip else "x.tar.gz"), top)
    with fetched(Source("archive", str(file)), lambda _: None) as found:
        for name, data in GOOD.items():
            assert (found.folder / name).read_bytes() == data
            assert (found.folder / name).stat().st_mode & 0o777 == 0o600
        assert (found.folder / "b.md").readlink() == Path("functions/a.md")
        if make is good_tar:
            assert (found.folder / "c.md").read_bytes() == GOOD["functions/a.md"]
        work = found.folder
    assert not work.exists()


def test_an_archive_in_an_archive_is_a_file(tmp_path: Path) -> None:
    inner = good_zip(tmp_path / "inner.zip").read_bytes()
    file = zipped(tmp_path / "x.zip", [("expert.yaml", b"a"), ("inner.zip", inner)])
    with fetched(Source("archive", str(file)), lambda _: None) as found:
        assert (found.folder / "inner.zip").read_bytes() == inner
        assert not (found.folder / "functions").exists()
