"""The four places, which of two skills counts, and what is passed over."""

from __future__ import annotations

from pathlib import Path

from colleague.skills.places import MOST_SKILLS
from colleague.skills.report import problems
from tests.unit.skills.place import SkillHome, skill_text


def sources(home: SkillHome) -> dict[str, str]:
    return {name: each.source for name, each in home.skills.skills.items()}


def test_of_one_name_the_nearest_counts(home: SkillHome) -> None:
    home.settings = {"skills": {"load": {"extraDirs": ["more"]}}}
    for name, at in (("a", "more"), ("b", "more"), ("c", "more")):
        home.put(name, at=at)
    assert sources(home) == dict.fromkeys("abc", "extra")
    home.put("b")
    home.put("c")
    home.put("c", at="workspace/skills")
    assert sources(home) == {"a": "extra", "b": "managed", "c": "workspace"}
    overridden = [(each.skill.name, each.skill.source, each.by.source) for each in home.skills.overridden]
    assert overridden == [
        ("b", "extra", "managed"),
        ("c", "extra", "workspace"),
        ("c", "managed", "workspace"),
    ]
    assert list(problems(home.skills)) == []


def test_two_of_one_name_in_one_place(home: SkillHome) -> None:
    home.put("one", skill_text("same"))
    home.put("two", skill_text("same"))
    assert home.skills.skills["same"].folder.name == "one"
    [(said, _)] = problems(home.skills)
    assert said.replace(str(home.root), "") == (
        "/skills/two/SKILL.md: /skills/one/SKILL.md has the same name, same, and counts"
    )


def test_a_hostile_name_becomes_that_of_its_folder(home: SkillHome) -> None:
    home.put("plain", skill_text("../../../etc"))
    home.put("with space", skill_text("'a b'"))
    assert list(home.skills.skills) == ["plain"]
    assert [each.name for each in home.skills.broken] == ["with space"]


def test_collections_in_groups(home: SkillHome) -> None:
    home.put("deep", at="skills/office/writing")
    home.put("too-deep", at="skills/a/b/c")
    home.put("hidden", at="skills/.git")
    home.put("foreign", at="skills/node_modules")
    assert list(home.skills.skills) == ["deep"]


def test_an_extra_folder_that_is_a_skill_itself_or_is_not_there(home: SkillHome) -> None:
    home.put("alone", at="elsewhere")
    home.settings = {"skills": {"load": {"extraDirs": ["elsewhere/alone", "gone"]}}}
    assert list(home.skills.skills) == ["alone"]
    assert [each.problem for each in home.skills.broken] == [
        f"skills.load.extraDirs: {home.root}/gone is no folder"
    ]


def test_no_link_is_followed_and_no_loop_is_walked(home: SkillHome) -> None:
    outside = home.put("outside", at="elsewhere").parent
    (home.root / "skills").mkdir()
    (home.root / "skills" / "link").symlink_to(outside)
    (home.root / "skills" / "loop").symlink_to(home.root / "skills")
    (home.root / "skills" / "round").mkdir()
    (home.root / "skills" / "round" / "again").symlink_to("..")
    assert home.skills.skills == {}
    [broken] = home.skills.broken
    assert (broken.name, "is a link" in broken.problem) == ("link", True)


def test_a_workspace_whose_skills_are_a_link(home: SkillHome) -> None:
    home.put("outside", at="elsewhere")
    (home.root / "workspace").mkdir()
    (home.root / "workspace" / "skills").symlink_to(home.root / "elsewhere")
    assert home.skills.skills == {}
    assert "is a link" in home.skills.broken[0].problem


def test_a_folder_that_cannot_be_read_breaks_nothing_else(home: SkillHome) -> None:
    home.put("good")
    (home.root / "skills" / "bad").mkdir()
    (home.root / "skills" / "bad" / "SKILL.md").mkdir()
    assert list(home.skills.skills) == ["good"]
    assert home.skills.broken_of("bad") is not None


def test_too_many_are_cut_and_that_is_said(home: SkillHome) -> None:
    for number in range(MOST_SKILLS + 1):
        folder = home.root / "skills" / f"s{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").touch()
    found = home.skills
    assert len(found.broken) == MOST_SKILLS + 1
    assert found.broken[-1].problem.endswith("has more than 2,000 skills; the rest is left out")


def test_an_edit_is_seen(home: SkillHome) -> None:
    file = home.put("a")
    assert home.skills.skills["a"].head.description == "About a"
    file.write_text(skill_text("a").replace("About a", "Something else"))
    assert home.skills.skills["a"].head.description == "Something else"


def test_the_bundled_one_is_sound(tmp_path: Path) -> None:
    home = SkillHome(tmp_path, {"skills": {"allowBundled": None}})
    from colleague.skills.collection import load_skills
    from colleague.skills.places import SkillPlaces

    found = load_skills(SkillPlaces.of(home.read))
    assert found.broken == ()
    for each in found.skills.values():
        assert (each.source, each.head.warnings, each.head.name) == ("bundled", (), each.folder.name)
        assert home.conditions().is_eligible(each)
