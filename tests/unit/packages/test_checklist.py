"""Which lines of a process are steps, and what they name."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.packages.checklist import Step, Vocabulary, read_steps

VOCABULARY = Vocabulary(
    operations={"crm": frozenset({"get_contact", "create_note"}), "phone": frozenset()},
    functions=frozenset({"classify", "sort-mail"}),
)


def steps(body: str, first_line: int = 1) -> tuple[Step, ...]:
    return read_steps(body, "processes/triage.md", first_line, VOCABULARY)


def texts(body: str) -> list[str]:
    return [step.text for step in steps(body)]


def step(text: str) -> Step:
    (only,) = steps(f"- [ ] {text}\n")
    return only


# What is a step


def test_boxes_are_steps_in_order() -> None:
    assert texts("# Title\n\nPreamble.\n\n- [ ] one\n- [x] two\n- [X] three\n\nDone.\n") == [
        "one",
        "two",
        "three",
    ]


def test_a_list_without_boxes_is_none() -> None:
    assert texts("- one\n- two\n1. three\n[ ] four\n") == []


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "1)", "42."])
def test_any_list_marker(bullet: str) -> None:
    assert texts(f"{bullet} [ ] one\n") == ["one"]


def test_a_numbered_list() -> None:
    assert texts("1. [ ] one\n2. [ ] two\n3. three\n") == ["one", "two"]


def test_nested_items_follow_their_parent() -> None:
    body = "- [ ] one\n  - [ ] one a\n    1. [ ] one a i\n  - note\n- [ ] two\n"
    assert texts(body) == ["one", "one a", "one a i", "two"]


def test_lines_below_belong_to_the_step() -> None:
    assert texts("- [ ] one\n      and more\n      of it\n\n- [ ] two\n") == ["one and more of it", "two"]


def test_a_second_paragraph_does_not() -> None:
    assert texts("- [ ] one\n\n  More about it.\n\n- [ ] two\n") == ["one", "two"]


@pytest.mark.parametrize(
    "body",
    [
        "```\n- [ ] no\n```\n",
        "~~~markdown\n- [ ] no\n~~~\n",
        "```\n- [ ] never closed\n",
        "    - [ ] indented code\n",
        "- a list\n\n  ```\n  - [ ] no\n  ```\n",
        "<!--\n- [ ] no\n-->\n",
        "- [] no\n",
        "- [  ] no\n",
        "- [y] no\n",
        "- [ ]no\n",
        "- [ ]\n",
        "- text [ ] no\n",
        "-[ ] no\n",
        "| - [ ] no |\n",
        "",
    ],
)
def test_what_is_no_step(body: str) -> None:
    assert texts(body) == []


def test_a_step_knows_its_line_in_the_file() -> None:
    body = "\n# Title\n\n- [ ] one\n      more\n\n```\n- [ ] no\n```\n\n- [ ] two\n"
    assert [str(step.at) for step in steps(body, first_line=10)] == [
        "processes/triage.md:13",
        "processes/triage.md:20",
    ]


# What a step names


def test_declared_operations() -> None:
    found = step("Use `crm.get_contact`, then `crm.create_note`, then `crm.get_contact` again")
    assert found.operations == ("crm.get_contact", "crm.create_note")
    assert found.undeclared == ()


def test_functions() -> None:
    assert step("Apply `classify` and ``sort-mail``, not unknown or `other`").functions == (
        "classify",
        "sort-mail",
    )


def test_files() -> None:
    found = step(
        "Read `./state/pipeline.md` and `knowledge/facts.md`, write `scratch/triage-{id}.md`, run `a / b`"
    )
    assert found.files == ("./state/pipeline.md", "knowledge/facts.md", "scratch/triage-{id}.md")


def test_words_outside_code_name_nothing() -> None:
    found = step("Use crm.get_contact and classify on state/pipeline.md")
    assert (found.operations, found.functions, found.files) == ((), (), ())


def test_code_may_go_over_a_line() -> None:
    assert steps("- [ ] Apply `classify\n      ` now\n")[0].functions == ("classify",)


@pytest.mark.parametrize(
    "name", ["crm.delete_everything", "crm.anything", "billing.send_invoice", "erp.get_order"]
)
def test_undeclared_operations(name: str) -> None:
    assert step(f"Use `{name}`").undeclared == (name,)


@pytest.mark.parametrize(
    "name",
    [
        "crm.get_contact",
        "crm.md",
        "notes.md",
        "data.json",
        "deal.amount",
        "phone.call",  # a tool without a file: its operations are not known
        "get_contact",
        "crm",
        "crm.",
        ".get_contact",
        "a.b.c",
        "1.5",
        "e.g.",
        "deal.update",
    ],
)
def test_names_that_are_no_undeclared_operation(name: str) -> None:
    assert step(f"Use `{name}`").undeclared == ()


# Anything


MARKDOWNISH = st.lists(
    st.sampled_from(
        ["- [ ] ", "* [x] ", "1. ", "- ", "> ", "```", "~~~", "    ", "  ", "\n", "\n\n", "`", "``"]
    )
    | st.sampled_from(
        ["a", "`crm.get_contact`", "# ", "---", "<!--", "-->", "[a]: b", "\t", "\0", "é", "\\", "|", "***"]
    ),
    max_size=60,
).map("".join)


@given(MARKDOWNISH)
@settings(max_examples=500)
def test_any_markdown_gives_steps_on_lines_that_have_a_box(body: str) -> None:
    lines = body.split("\n")
    found = steps(body)
    assert [each.at.line for each in found] == sorted(each.at.line for each in found)
    for each in found:
        assert each.text
        assert "[" in lines[each.at.line - 1]


@pytest.mark.parametrize(
    "body",
    [
        "> " * 20_000,
        "- " * 20_000,
        "- [ ] " * 5_000,
        "[" * 20_000,
        "- [ ] " + "`" * 50_000,
        "- [ ] " + " ".join("`" * length for length in range(300)),
        "".join(" " * depth + "- [ ] a\n" for depth in range(500)),
        "".join(f"[a{number}]: b\n" for number in range(10_000)),
        "<!--\n" * 10_000,
    ],
)
def test_odd_markdown_takes_no_time(body: str) -> None:
    begin = time.process_time()
    steps(body)
    assert time.process_time() - begin < 20
