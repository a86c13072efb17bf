"""colleague expert install and update from everything that is a source."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.test_expert import git, replace
from tests.conftest import EXAMPLE, SALES, Colleague

TOKEN = "-".join(("token", "0123456789"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two packages in folders of one repository: 0.1.0 is tagged v0.1, 0.2.0 is on main, 0.3.0 on next."""
    root = tmp_path / "you" / "experts"
    shutil.copytree(EXAMPLE, root / "sales" / "expert")
    shutil.copytree(EXAMPLE, root / "other")
    git(root, "init")
    commit(root, "first")
    git(root, "tag", "v0.1")
    release(root, "0.1.0", "0.2.0")
    git(root, "checkout", "-q", "-b", "feature/next")
    release(root, "0.2.0", "0.3.0")
    git(root, "checkout", "-q", "main")
    return root


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-m", message)
    asked = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return asked.stdout.strip()


def release(root: Path, old: str, new: str) -> str:
    replace(root / "sales" / "expert" / "expert.yaml", f'version: "{old}"', f'version: "{new}"')
    return commit(root, new)


def version(colleague: Colleague, name: str = SALES) -> str:
    return str(
        {each["name"]: each["version"] for each in colleague.ok("expert", "list", "--json").json}[name]
    )


class TestRepository:
    def test_a_folder_of_it(self, colleague: Colleague, repository: Path) -> None:
        said = colleague.ok("expert", "install", f"file://{repository}", "--path", "sales/expert")
        assert f"{SALES} 0.2.0 from file://{repository} --path sales/expert" in said.out
        assert not (colleague.expert() / "sales").exists()
        release(repository, "0.2.0", "0.2.1")
        assert "0.2.0 → 0.2.1" in colleague.ok("expert", "update", SALES).out

    def test_without_the_folder_it_says_which_there_are(self, colleague: Colleague, repository: Path) -> None:
        said = colleague("expert", "install", f"file://{repository}")
        assert said.code == 1
        assert "there is no expert.yaml at the top of" in said.err
        assert "--path other, --path sales/expert" in said.err

    @pytest.mark.parametrize("path", ["../..", "/etc", "nowhere", "sales/expert/expert.yaml", "~/x"])
    def test_a_folder_that_is_none(self, path: str, colleague: Colleague, repository: Path) -> None:
        said = colleague("expert", "install", f"file://{repository}", "--path", path)
        assert said.code == 1
        assert path in said.err
        assert colleague.ok("expert", "list", "--json").json == []

    def test_a_folder_that_is_a_link(self, colleague: Colleague, repository: Path, tmp_path: Path) -> None:
        shutil.copytree(EXAMPLE, tmp_path / "secret")
        (repository / "linked").symlink_to(tmp_path / "secret")
        commit(repository, "link")
        said = colleague("expert", "install", f"file://{repository}", "--path", "linked")
        assert said.code == 1
        assert "there is no folder linked" in said.err

    @pytest.mark.parametrize(
        ("ref", "wanted"), [("v0.1", "0.1.0"), ("feature/next", "0.3.0"), ("main", "0.2.0")]
    )
    def test_a_tag_or_a_branch(self, ref: str, wanted: str, colleague: Colleague, repository: Path) -> None:
        source = f"file://{repository}@{ref}"
        said = colleague.ok("expert", "install", source, "--path", "sales/expert")
        assert f"{SALES} {wanted} from {source} --path sales/expert" in said.out
        assert (
            colleague.ok("expert", "show", SALES, "--json").json["source"] == f"{source} --path sales/expert"
        )

    def test_a_branch_is_followed(self, colleague: Colleague, repository: Path) -> None:
        colleague.ok("expert", "install", f"file://{repository}@feature/next", "--path", "sales/expert")
        git(repository, "checkout", "-q", "feature/next")
        release(repository, "0.3.0", "0.3.1")
        git(repository, "checkout", "-q", "main")
        said = colleague.ok("expert", "update", SALES)
        assert "0.3.0 → 0.3.1" in said.out
        assert "pinned" not in said.out

    def test_a_tag_is_pinned_and_can_be_moved(self, colleague: Colleague, repository: Path) -> None:
        colleague.ok("expert", "install", f"file://{repository}@v0.1", "--path", "sales/expert")
        said = colleague.ok("expert", "update", SALES)
        assert "0.1.0 is up to date" in said.out
        assert f"it is pinned to v0.1; to move it: colleague expert update {SALES} --to REF" in said.out
        assert colleague.ok("expert", "update", SALES, "--json").json[0]["pinned"] is True
        assert "0.1.0 → 0.2.0" in colleague.ok("expert", "update", SALES, "--to", "main").out
        release(repository, "0.2.0", "0.2.1")
        assert "0.2.0 → 0.2.1" in colleague.ok("expert", "update", SALES).out

    def test_a_commit_is_pinned(self, colleague: Colleague, repository: Path) -> None:
        wanted = release(repository, "0.2.0", "0.2.1")
        release(repository, "0.2.1", "0.2.2")
        colleague.ok("expert", "install", f"file://{repository}@{wanted}", "--path", "sales/expert")
        assert version(colleague) == "0.2.1"
        said = colleague.ok("expert", "update", SALES)
        assert f"it is pinned to {wanted}" in said.out

    def test_to_is_for_repositories(self, installed: Colleague) -> None:
        assert "--to needs a git repository" in installed("expert", "update", SALES, "--to", "v2").err
        assert installed("expert", "update", "--all", "--to", "v2").code == 2

    @pytest.mark.parametrize("ref", ["v9", "feature/none", "0" * 40])
    def test_a_ref_that_does_not_exist(self, ref: str, colleague: Colleague, repository: Path) -> None:
        said = colleague("expert", "install", f"file://{repository}@{ref}")
        assert said.code == 1
        assert f"file://{repository} has no branch, tag or commit {ref!r}" in said.err
        assert "git ls-remote" in said.err

    def test_half_a_commit(self, colleague: Colleague, repository: Path) -> None:
        said = colleague("expert", "install", f"file://{repository}@0123abc")
        assert "all of its 40 characters" in said.err

    @pytest.mark.parametrize("ref", ["-x", "--upload-pack=touch${IFS}x", "a b", "a..b", "a@{1}", "x:y"])
    def test_a_ref_that_git_would_take_for_something_else(
        self, ref: str, colleague: Colleague, repository: Path
    ) -> None:
        said = colleague("expert", "install", f"file://{repository}@{ref}")
        assert said.code == 1
        assert "cannot be the name of a branch or tag" in said.err

    def test_a_local_one_with_an_at_in_its_name(self, colleague: Colleague, repository: Path) -> None:
        place = repository.with_name("a@b")
        repository.rename(place)
        colleague.ok("expert", "install", f"file://{place}", "--path", "sales/expert")


class TestGitHub:
    @pytest.fixture
    def config(self, repository: Path, tmp_path: Path) -> str:
        """git settings that lead GitHub's address here."""
        file = tmp_path / "gitconfig"
        file.write_text(f'[url "file://{tmp_path}/"]\n\tinsteadOf = https://github.com/\n')
        repository.rename(repository.with_name("experts.git"))
        return str(file)

    def test_owner_and_repository(self, colleague: Colleague, config: str) -> None:
        path = ("--path", "sales/expert")
        said = colleague.ok("expert", "install", "you/experts", *path, GIT_CONFIG_GLOBAL=config)
        assert "from https://github.com/you/experts.git --path sales/expert" in said.out
        colleague.ok(
            "expert", "install", "you/experts@v0.1", *path, "--name", "old", GIT_CONFIG_GLOBAL=config
        )
        assert (version(colleague), version(colleague, "old")) == ("0.2.0", "0.1.0")
        said = colleague.ok("expert", "update", "--all", GIT_CONFIG_GLOBAL=config)
        assert "it is pinned to v0.1" in said.out

    def test_a_folder_comes_first(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        package.rename(tmp_path / "mine" / "expert")
        said = colleague("expert", "install", "mine/expert", cwd=tmp_path)
        assert f"from {tmp_path}/mine/expert" in said.out

    def test_a_repository_that_is_none(self, colleague: Colleague, config: str) -> None:
        said = colleague("expert", "install", "you/nothing", GIT_CONFIG_GLOBAL=config)
        assert said.code == 1
        assert "cannot clone https://github.com/you/nothing.git: there is no repository" in said.err
        assert "for a folder of yours write ./ before its name" in said.err


@contextmanager
def server(status: int = 200, body: bytes = b"", headers: dict[str, str] | None = None) -> Iterator[str]:
    """A web server that gives one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


class TestGitErrors:
    """What git says, with what to do; a token in the URL is never shown."""

    def fails(self, colleague: Colleague, url: str, **environment: str) -> str:
        said = colleague("expert", "install", url, **environment)
        assert said.code == 1
        assert TOKEN not in said.out + said.err
        assert "Traceback" not in said.err
        assert colleague.ok("expert", "list", "--json").json == []
        return said.err

    def with_token(self, url: str) -> str:
        return url.replace("http://", f"http://me:{TOKEN}@") + "/you/x.git"

    def test_no_such_repository(self, colleague: Colleague) -> None:
        with server(404) as url:
            assert "there is no repository" in self.fails(colleague, self.with_token(url))

    def test_authentication(self, colleague: Colleague) -> None:
        with server(401, headers={"WWW-Authenticate": 'Basic realm="x"'}) as url:
            said = self.fails(colleague, self.with_token(url))
            assert "it needs authentication, or it does not exist" in said
            assert "credential helper" in said
            assert "it needs authentication" in self.fails(colleague, f"{url}/you/x.git")

    def test_no_network(self, colleague: Colleague) -> None:
        said = self.fails(colleague, self.with_token("http://127.0.0.1:1"))
        assert "it cannot be reached" in said
        assert "check the network" in said
        assert "it cannot be reached" in self.fails(colleague, "https://no-such-host.invalid/x.git")

    def test_no_git(self, colleague: Colleague, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        said = self.fails(colleague, "https://example.com/x.git", PATH=str(tmp_path / "empty"))
        assert "git is not installed" in said

    def test_a_ref(self, colleague: Colleague) -> None:
        with server(404) as url:
            assert "@v1" in self.fails(colleague, self.with_token(url) + "@v1")


def zip_of(package: Path, target: Path, top: str = "expert-main/") -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in package.rglob("*"):
            archive.write(file, top + str(file.relative_to(package)))
    return target


def tar_of(package: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(package, arcname="expert-main")
    return target


class TestArchive:
    @pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tgz", "X.ZIP"])
    def test_a_file(self, name: str, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        make = zip_of if name.lower().endswith("zip") else tar_of
        file = make(package, tmp_path / name)
        said = colleague.ok("expert", "install", str(file))
        assert f"{SALES} 0.1.0 from {file}" in said.out
        for each in package.rglob("*.md"):
            assert (colleague.expert() / each.relative_to(package)).read_bytes() == each.read_bytes()
        replace(package / "expert.yaml", 'version: "0.1.0"', 'version: "0.2.0"')
        make(package, file)
        assert "0.1.0 → 0.2.0" in colleague.ok("expert", "update", SALES).out
        file.unlink()
        assert "is gone" in colleague("expert", "update", SALES).err

    def test_a_folder_of_it(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        file = zip_of(package, tmp_path / "x.zip", "repository-1.2/experts/sales/")
        said = colleague("expert", "install", str(file))
        assert "--path experts/sales" in said.err
        colleague.ok("expert", "install", str(file), "--path", "experts/sales")
        assert "up to date" in colleague.ok("expert", "update", SALES).out

    def test_from_the_web(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        body = tar_of(package, tmp_path / "x.tgz").read_bytes()
        with server(200, body) as url:
            said = colleague.ok("expert", "install", f"{url}/x.tgz?token={TOKEN}")
            assert f"from {url}/x.tgz?..." in said.out
            assert TOKEN not in said.out + said.err
            assert "up to date" in colleague.ok("expert", "update", SALES).out

    @pytest.mark.parametrize(
        ("status", "said"), [(404, "says 404"), (401, "needs authentication"), (500, "says 500")]
    )
    def test_a_server_that_refuses(self, status: int, said: str, colleague: Colleague) -> None:
        with server(status) as url:
            told = colleague("expert", "install", url.replace("http://", f"http://me:{TOKEN}@") + "/x.zip")
        assert told.code == 1
        assert said in told.err
        assert TOKEN not in told.err

    @pytest.mark.parametrize("place", ["http://example.com/x.zip", "file:///etc/passwd", "ftp://127.0.0.1/x"])
    def test_a_redirect_to_an_unsafe_place(self, place: str, colleague: Colleague) -> None:
        with server(302, headers={"Location": place}) as url:
            told = colleague("expert", "install", f"{url}/x.zip")
        assert told.code == 1
        assert "https only" in told.err or "is not allowed" in told.err

    def test_http_is_not_enough(self, colleague: Colleague) -> None:
        said = colleague("expert", "install", "http://example.com/x.zip")
        assert said.code == 1
        assert "https only" in said.err

    def test_a_hostile_one_leaves_nothing(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        file = zip_of(package, tmp_path / "x.zip", "")
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr("../../escape.md", "a")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        said = colleague("expert", "install", str(file), TMPDIR=str(scratch))
        assert said.code == 1
        assert f"{file} is refused: the name '../../escape.md' leads out of the archive" in said.err
        assert list(scratch.iterdir()) == []
        assert list(tmp_path.rglob("escape.md")) == []
        assert colleague.ok("expert", "list", "--json").json == []

    def test_bindings_in_it_are_refused(self, colleague: Colleague, package: Path, tmp_path: Path) -> None:
        (package / "bindings.yaml").write_text("tools: {}\n")
        said = colleague("expert", "install", str(zip_of(package, tmp_path / "x.zip")))
        assert "ships bindings.yaml" in said.err

    def test_another_kind_of_file(self, colleague: Colleague, tmp_path: Path) -> None:
        (tmp_path / "x.rar").write_bytes(b"Rar!")
        said = colleague("expert", "install", str(tmp_path / "x.rar"))
        assert said.code == 1
        assert ".zip or .tar.gz" in said.err
        (tmp_path / "x.zip").write_bytes(b"not a zip")
        assert (
            "neither a zip nor a gzipped tar" in colleague("expert", "install", str(tmp_path / "x.zip")).err
        )


def test_an_archive_that_is_not_there_is_a_file_that_is_not_there(colleague: Colleague) -> None:
    said = colleague("expert", "install", "gone.zip")
    assert (said.code, "there is no file" in said.err) == (1, True)
