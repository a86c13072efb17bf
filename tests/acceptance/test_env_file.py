"""`.env` in a home: whatever is set there counts for the gateway and for every command alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.test_serve_lines import serving
from tests.conftest import Colleague

TOKEN = "a-token-that-only-the-file-has"  # noqa: S105
SETTINGS = """{
  agents: {defaults: {model: "lab/m1"}},
  models: {providers: {lab: {baseUrl: "${LAB_URL}", apiKey: "${LAB_KEY}", api: "openai-completions",
    models: [{id: "m1"}]}}},
  gateway: {auth: {mode: "token", token: "${GATEWAY_TOKEN}"}},
}"""
VARIABLES = f"""# for the gateway and for every command
export GATEWAY_TOKEN={TOKEN}
LAB_URL="http://127.0.0.1:9/v1"   # nobody is there
LAB_KEY='a key with spaces'
"""


@pytest.fixture
def home(colleague: Colleague) -> Colleague:
    colleague.home.mkdir(mode=0o700)
    (colleague.home / "colleague.json").write_text(SETTINGS)
    return colleague


def write(home: Colleague, text: str | bytes) -> Path:
    file = home.home / ".env"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    file.chmod(0o600)
    return file


def test_the_gateway_and_every_command_have_its_variables(home: Colleague) -> None:
    assert "GATEWAY_TOKEN is not set" in home("serve").err
    file = write(home, VARIABLES)
    with serving(home) as gateway:
        assert "problems" not in gateway.out[0]
        home.ok("session", "set", "agent:main:main", "--label", "desk")
        checks = {each["about"]: each for each in home("doctor", "--json").json}
        assert checks["variables"]["message"] == f"3 in {file}"
        assert checks["model"]["level"] == "ok"
        assert checks["gateway"]["level"] == "ok"
    [listed] = [each for each in home.ok("model", "list", "--json").json if each["name"] == "lab/m1"]
    assert listed["key"] == "set"


def test_a_variable_of_the_shell_counts_first(home: Colleague) -> None:
    file = write(home, VARIABLES)
    said = home("doctor", "--json", LAB_URL="http://127.0.0.1:8/v1")
    warnings = [each["message"] for each in said.json if each["about"] == "variables"][1:]
    told = "LAB_URL is set where this command was started, too, and that counts, not"
    assert warnings == [f"{told} {file}"]
    with serving(home, GATEWAY_TOKEN=""):
        home.ok("session", "set", "agent:main:main", "--label", "desk")


def test_a_gateway_says_when_the_file_has_changed(home: Colleague) -> None:
    write(home, VARIABLES)
    with serving(home) as gateway:
        write(home, VARIABLES + "MORE=1\n")
        told = "start the gateway again for .env to count"
        gateway.until(lambda each: any(told in line for line in each.out))
        assert any(told in line for line in home("doctor").out.splitlines())


def test_it_cannot_name_another_home(home: Colleague, tmp_path: Path) -> None:
    write(home, f"{VARIABLES}OPENCLAW_STATE_DIR={tmp_path / 'elsewhere'}\n")
    assert str(home.home) in home("doctor", "--home", str(home.home)).out
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("GOOD=1\n\nno variable at all\n", ":3: this is no variable"),
        ("GOOD=1\nLONELY\n", ":2: this is no variable"),
        ('GOOD=1\nBAD="never closed\n', ":2: this is no variable"),
        ("GOOD=1\nBAD=a\0b\n", ":2: BAD holds a NUL character"),
        (b"GOOD=1\nBAD=\xff\xfe\n", ":2: this is not UTF-8"),
        ("A=" + "x" * 1_100_000, " is larger than 1024 KiB"),
    ],
)
def test_a_broken_one_is_told_with_its_line(home: Colleague, text: str | bytes, told: str) -> None:
    file = write(home, text)
    said = home("status")
    assert said.code == 1
    assert f"✗ {file}{told}" in said.err
    assert "xxx" not in said.err
    assert home("--help").code == 0


def test_what_is_no_file(home: Colleague) -> None:
    os.mkfifo(home.home / ".env")
    said = home("status")
    assert (said.code, f"{home.home / '.env'} is not a file" in said.err) == (1, True)


def test_others_may_not_read_it(home: Colleague) -> None:
    file = write(home, VARIABLES)
    file.chmod(0o644)
    (home.home / "colleague.json").chmod(0o600)
    [found] = [each for each in home("doctor", "--json").json if each["about"] == "permissions"]
    assert str(file) in found["message"]
    home("doctor", "--fix")
    assert file.stat().st_mode & 0o777 == 0o600
