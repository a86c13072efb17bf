"""A SKILL.md as authors write it, and whatever else may be found in its place."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from colleague.skills.skill import SkillHead
from colleague.skills.skill_file import SkillFlaw, read_head, read_instructions

MOST = 256_000

OPENCLAW = """\
---
name: github
description: "Talk to GitHub: issues, pull requests."
homepage: https://cli.github.com
metadata:
  {
    "openclaw":
      {
        "emoji": "\N{OCTOPUS}",
        "os": ["linux", "darwin"],
        "requires":
          { "bins": ["gh"], "anyBins": ["jq", "python3"], "env": ["GH_TOKEN"], "config": ["tools.web"] },
        "primaryEnv": "GH_TOKEN",
        "install":
          [
            { "id": "brew", "kind": "brew", "formula": "gh", "label": "Install the GitHub CLI", },
          ],
      },
  }
---

# GitHub

Use `gh`.
"""


def head_of(folder: Path, text: str | bytes) -> SkillHead | SkillFlaw:
    file = folder / "SKILL.md"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_head(file, MOST)


def good(folder: Path, text: str) -> SkillHead:
    head = head_of(folder, text)
    assert isinstance(head, SkillHead), head
    return head


def problem(folder: Path, text: str | bytes) -> str:
    head = head_of(folder, text)
    assert isinstance(head, SkillFlaw), head
    return head.problem.replace(str(folder), "")


def test_a_skill_of_openclaw_loads_unchanged(tmp_path: Path) -> None:
    head = good(tmp_path, OPENCLAW)
    assert (head.name, head.description) == ("github", "Talk to GitHub: issues, pull requests.")
    assert head.needs.os == ("linux", "darwin")
    assert (head.needs.bins, head.needs.any_bins) == (("gh",), ("jq", "python3"))
    assert (head.needs.env, head.needs.config) == (("GH_TOKEN",), ("tools.web",))
    assert (head.primary_env, head.homepage) == ("GH_TOKEN", "https://cli.github.com")
    assert [str(each) for each in head.install] == ["Install the GitHub CLI (brew gh)"]
    assert (head.user_invocable, head.model_invocable, head.warnings) == (True, True, ())
    assert read_instructions(tmp_path / "SKILL.md") == "# GitHub\n\nUse `gh`."


def test_a_skill_with_metadata_of_others_and_tools(tmp_path: Path) -> None:
    head = good(
        tmp_path,
        "---\nname: pdf\ndescription: Forms\nlicense: MIT\nmetadata:\n  short-description: forms\n"
        "allowed-tools: Bash(git add:*), Read mcp__office__find_contact\ndisable-model-invocation: true\n"
        "user-invocable: false\n---\nText\n",
    )
    assert [str(each) for each in head.allowed] == ["bash(git add:*)", "read", "office/find_contact"]
    assert (head.user_invocable, head.model_invocable) == (False, False)


def test_metadata_as_a_text_with_json(tmp_path: Path) -> None:
    text = '---\nname: a\ndescription: b\nmetadata: \'{"clawdbot": {"requires": {"bins": ["x"]}}}\'\n---\n'
    assert good(tmp_path, text).needs.bins == ("x",)


def test_a_colon_in_the_description_is_read_as_it_was_meant(tmp_path: Path) -> None:
    head = good(tmp_path, "---\nname: a\ndescription: Use when: it's late\n---\nText\n")
    assert head.description == "Use when: it's late"
    assert head.warnings[0].endswith("SKILL.md:3: put the text after the colon into quotes")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("description: [Beta] forms", "[Beta] forms"),
        ("description: Use when: late\n  or never: ask", "Use when: late or never: ask"),
        ("description: 'it's late'", "it's late"),
        ('description: "Forms" and: more', '"Forms" and: more'),
        ("description: d\nargument-hint: [one] [two]", "d"),
        ("description: d\nallowed-tools: *", "d"),
        ("description: d\ndescription: e", "d"),
        ("description: d\nx: " + "[" * 500, "d"),
        ("description: d\n" + "x: &a [*a, *a]\n" * 3, "d"),
    ],
)
def test_a_field_that_is_no_yaml_is_text(tmp_path: Path, line: str, wanted: str) -> None:
    head = good(tmp_path, f"---\nname: a\n{line}\nhomepage: https://a.example\n---\nText\n")
    assert (head.name, head.description, head.homepage) == ("a", wanted, "https://a.example")
    assert head.warnings


def test_flags_and_lists_as_people_write_them(tmp_path: Path) -> None:
    own = {
        "always": "yes",
        "os": "linux, darwin",
        "requires": {
            "bins": "gh,jq",
            "env": [{"name": "GH_TOKEN", "required": True}, None],
            "config": {"a.b": "x"},
        },
        "install": ["brew install gh", {"kind": "apt", "package": "gh"}, {"brew": "gh"}],
    }
    metadata = json.dumps({"openclaw": own})
    flag = "disable-model-invocation: 'true'"
    head = good(tmp_path, f"---\nname: a\ndescription: d\n{flag}\nmetadata: {metadata}\n---\n")
    assert (head.needs.always, head.model_invocable, head.user_invocable) == (True, False, True)
    assert (head.needs.os, head.needs.bins) == (("linux", "darwin"), ("gh", "jq"))
    assert (head.needs.env, head.needs.config) == (("GH_TOKEN",), ("a.b",))
    assert [str(each) for each in head.install] == ["brew install gh", "apt gh"]
    assert head.warnings[0].endswith("an entry of install has no kind")


def test_a_text_without_frontmatter_is_a_skill_that_describes_itself(tmp_path: Path) -> None:
    head = good(tmp_path, "# Canvas\n\nShows pages on a screen.\n")
    assert (head.name, head.description) == ("", "Shows pages on a screen.")
    assert "it has no frontmatter" in head.warnings[0]
    assert read_instructions(tmp_path / "SKILL.md") == "# Canvas\n\nShows pages on a screen."


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", "a b", "~root", "x" * 65, "-x", "a\tb"])
def test_a_name_that_cannot_be_used_is_not_used(tmp_path: Path, name: str) -> None:
    head = good(tmp_path, f"---\nname: {name!r}\ndescription: d\n---\n")
    assert head.name == ""
    assert head.warnings


def test_without_a_description_the_first_sentence_stands_for_it(tmp_path: Path) -> None:
    head = good(tmp_path, "---\nname: a\n---\n\n# Title\n\nDoes this.\n")
    assert head.description == "Does this."
    assert "it has no description" in head.warnings[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# No head\n", "/SKILL.md:1: the frontmatter is missing"),
        ("---\nname: a\n", "/SKILL.md:1: the frontmatter never ends"),
        ("---\nname: a\nmetadata:\n  x: [1,\n---\n", "/SKILL.md:4: invalid YAML"),
        ("\n\n---\nname: a\nmetadata:\n  x: [1,\n---\n", "/SKILL.md:6: invalid YAML"),
        ("---\nname: a\nmetadata: {openclaw: {requires: [a]}}\n---\n", "/SKILL.md:3: requires must be"),
        (
            "---\nname: a\nmetadata: {openclaw: {requires: {bins: [[a]]}}}\n---\n",
            "/SKILL.md:3: an entry of bins must be",
        ),
        ("---\nname: a\nmetadata: {openclaw: {requires\n---\n", "/SKILL.md:3: invalid YAML"),
        ("---\nname: a\nuser-invocable: maybe\n---\n", "/SKILL.md:3: user-invocable must be"),
        ("<!-- mine -->\n---\nname: a\n---\n", "/SKILL.md:1: the frontmatter is missing"),
        (b"---\nname: a\n\xff: x\n---\n", "/SKILL.md:3: byte 0xff is not UTF-8"),
        ("---\nmetadata:\n" + "  a: &a [*a, *a]\n" * 3 + "---\n", "/SKILL.md:3:"),
        ("---\nmetadata:\n  x: " + "[" * 500 + "\n---\n", "/SKILL.md:3:"),
    ],
)
def test_what_is_broken_is_named_with_its_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert problem(tmp_path, text).startswith(said)


def test_ten_megabytes_are_not_read(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: b\n---\n" + "x" * 10_000_000
    assert problem(tmp_path, text) == "/SKILL.md has 10,000,031 bytes; 256,000 is the limit"


def test_what_is_no_file_is_never_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "SKILL.md"
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("SKILL.md")
        assert str(read_head(file, MOST)).count("is no plain file") == 1
    file.unlink()
    os.mkfifo(file)
    assert str(read_head(file, MOST)).count("is no plain file") == 1
    file.unlink()
    file.mkdir()
    assert str(read_head(file, MOST)).count("is no plain file") == 1
    file.rmdir()
    file.symlink_to("/etc/passwd")
    assert str(read_head(file, MOST)).count("is a link") == 1
    assert read_instructions(file) == ""
