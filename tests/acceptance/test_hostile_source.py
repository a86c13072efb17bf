"""Packages and repositories that mean no good, or are only huge, slow or half fetched."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from colleague.errors import PackageError
from colleague.packages.clone import CloneLimits, clone
from colleague.packages.source import Source
from tests.conftest import EXAMPLE, SALES, Colleague

LFS = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "package"))


def repository(folder: Path) -> str:
    """The folder as a repository with one commit; its URL."""
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for command in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True)
    return f"file://{folder}"


class TestBindings:
    @pytest.mark.parametrize("name", ["bindings.yaml", "BINDINGS.YAML", "Bindings.Yaml", "LINK.JSON"])
    def test_in_any_letter_case_they_are_refused(
        self, name: str, package: Path, colleague: Colleague, tmp_path: Path
    ) -> None:
        assert colleague("expert", "install", str(EXAMPLE), "--name", "first").code == 0
        (package / name).write_text("tools: {}\n")
        for arguments in ((str(package),), ("--link", str(package)), (repository(package),)):
            said = colleague("expert", "install", *arguments)
            assert said.code == 1
            assert f"the package ships {name}" in said.out + said.err
        assert not (colleague.home / "experts" / SALES).exists()

    def test_an_update_that_brings_them_is_refused(self, package: Path, colleague: Colleague) -> None:
        assert colleague("expert", "install", str(package)).code == 0
        (package / "BINDINGS.yaml").write_text("tools: {}\n")
        said = colleague("expert", "update", SALES, "--yes")
        assert said.code == 1
        assert "ships BINDINGS.yaml" in said.out + said.err
        assert not (colleague.home / "experts" / SALES / "BINDINGS.yaml").exists()


class TestLargeFiles:
    def test_a_pointer_is_not_taken_for_the_text(self, package: Path, colleague: Colleague) -> None:
        [text, *_] = sorted((package / "knowledge").glob("*.md"))
        text.write_text(LFS)
        for source in (str(package), repository(package)):
            said = colleague("expert", "install", source)
            assert said.code == 1
            assert f"knowledge/{text.name}" in said.out + said.err
            assert "is a Git LFS pointer" in said.out + said.err
        assert not (colleague.home / "experts" / SALES).exists()


class TestRepository:
    @pytest.fixture
    def silent(self) -> Iterator[str]:
        """A git server that takes the call and never says a word."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            taken: list[socket.socket] = []

            def take() -> None:
                while True:
                    try:
                        taken.append(server.accept()[0])
                    except OSError:
                        return

            threading.Thread(target=take, daemon=True).start()
            yield f"git://127.0.0.1:{server.getsockname()[1]}/package.git"
            for each in taken:
                each.close()

    def test_a_server_that_hangs_is_given_up(self, silent: str, tmp_path: Path) -> None:
        with pytest.raises(PackageError, match="said nothing for 1 s"):
            clone(Source("git", silent), tmp_path / "to", _quiet, CloneLimits(silent_seconds=1))

    def test_so_is_one_that_takes_too_long(self, silent: str, tmp_path: Path) -> None:
        with pytest.raises(PackageError, match="took longer than 1 s"):
            clone(Source("git", silent), tmp_path / "to", _quiet, CloneLimits(seconds=1))

    def test_a_huge_one_is_refused_before_its_files_are_written(self, package: Path, tmp_path: Path) -> None:
        (package / "zeros.bin").write_bytes(bytes(30 * 1024 * 1024))  # a few kilobytes on the wire
        url = repository(package)
        with pytest.raises(PackageError, match="larger than 20 MB"):
            clone(Source("git", url), tmp_path / "to", _quiet, CloneLimits(size=20 * 1024 * 1024))
        assert not (tmp_path / "to" / "zeros.bin").exists()

    def test_a_pack_that_grows_too_large_is_refused_while_it_comes(
        self, package: Path, tmp_path: Path
    ) -> None:
        (package / "noise.bin").write_bytes(os.urandom(5 * 1024 * 1024))
        url = repository(package)
        with pytest.raises(PackageError, match="larger than 1 MB"):
            clone(Source("git", url), tmp_path / "to", _quiet, CloneLimits(size=1024 * 1024))

    def test_an_empty_one_has_no_manifest(self, colleague: Colleague, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
        said = colleague("expert", "install", f"file://{tmp_path / 'empty'}")
        assert said.code == 1
        assert "expert.yaml" in said.out + said.err

    def test_a_good_one_is_installed_as_it_is(self, package: Path, colleague: Colleague) -> None:
        assert colleague("expert", "install", repository(package)).code == 0
        installed = colleague.home / "experts" / SALES
        for file in package.rglob("*.md"):
            assert (installed / file.relative_to(package)).read_bytes() == file.read_bytes()


class TestManyFiles:
    def test_thousands_of_files_are_installed_and_nobody_else_can_read_them(
        self, package: Path, colleague: Colleague
    ) -> None:
        for number in range(1500):
            file = package / "docs" / str(number % 10) / "deep" / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(number))
        assert colleague("expert", "install", str(package), timeout=300).code == 0
        assert len(list((colleague.home / "experts" / SALES / "docs").rglob("*.txt"))) == 1500
        assert colleague("expert", "validate", SALES, "--offline", timeout=300).code == 0


def _quiet(_: str) -> None:
    pass
