"""Private knowledge never leaves, in whatever words, spelling or escaping it is repeated."""

from __future__ import annotations

import json
import resource
import time
import unicodedata
from itertools import groupby
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from colleague.experts.privacy.private_file import private_bodies
from colleague.experts.privacy.redactor import PrivateText, private_text
from colleague.packages.package import read_package
from colleague.packages.snapshot import take_snapshot
from tests.unit.packages.conftest import CLEAN, PackageOnDisk

MARK = "[private]"
BODY = """\
# Goodwill budget

The limit is CANARY-7f3a, so ask the lead first. Write to Ann.Lee@intra.acme.example or see
https://intra.acme.example/limits/café?year=1. A state-of-the-art approach works.

| case | who decides | sum |
|---|---|---|
| one voucher | Bartholomew | 1,200 EUR |
| two vouchers | a lead | up to 350.00 |
| a **small** gift | anyone | $50 |

1. Tulip fields

Give USD012 for the 30-day rule. Project ZEBRAFISH begins on 2031-05-01; the office is at 10.20.30.40.
Größere Straßen führen naïve Gäste.
"""
PRIVATE = PrivateText.of([BODY])


# What counts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I think the limit is CANARY-7f3a, so I ask.", "I think [private] I ask."),
        ("code:canary-7f3a!", "code:[private]!"),
        ("my_CANARY-7f3a_file.md", "my_[private]_file.md"),
        ("the Canary 7F3A and canary7f3a", "the [private] and [private]"),
        ("CANARY-7f3b stays", "CANARY-7f3b stays"),
        ("token USD012 or usd-012, not 012", "token [private] or [private], not 012"),
        ("a 30-day trial of 30 days", "a [private] trial of 30 days"),
        ("ask *the lead* first. Write!", "[private]!"),
        ("ask|the\n\n> `lead` ... FIRST", "[private]"),
        ("ask the lead", "ask the lead"),
        ("a state-of-the-art plan", "a state-of-the-art plan"),
        ("a-state-of-the-art-approach-works", "[private]"),
        ("one voucher for you", "[private] for you"),
        ("One  Voucher", "[private]"),
        ("vouchers for you", "vouchers for you"),
        ("our tulip fields, and Goodwill Budget", "our [private], and [private]"),
        ("to ann.lee@intra.acme.example.", "to [private]."),
        ("<mailto:ann.lee@intra.acme.example>", "<mailto:[private]>"),
        ("see intra.acme.example/limits/cafe?year=1 now", "see [private] now"),
        ("on 2031-05-01 or 2031-05-01T08:00:00Z", "on [private] or 2031-05-01T08:00:00Z"),
        ("ping 10.20.30.40:80", "ping [private]:80"),
        ("Zebrafish or ZEBRAFISH, a zebrafish", "[private] or [private], a zebrafish"),
        ("ask Bartholomew", "ask [private]"),
    ],
)
def test_passages(text: str, shown: str) -> None:
    assert PRIVATE.redact(text) == shown
    assert PRIVATE.leaks(text) == (text != shown)


@pytest.mark.parametrize(
    "number",
    [
        "1200",
        "1,200",
        "1200.00",
        "1,200.00",
        "1.200,00",
        "1'200",
        "1 200",
        "1\u202f200",
        "1.2k",
        "01200",
        "１２００",
    ],
)
@pytest.mark.parametrize(
    "around", ["up to {}.", "€{}", "USD{}", "{}EUR", "{} EUR", "({})", "x={};", "1-{}", "{}-euro"]
)
def test_a_sum_is_found_however_it_is_written(number: str, around: str) -> None:
    shown = PRIVATE.redact(around.format(number))
    assert MARK in shown
    assert "200" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "12000",
        "200",
        "1201",
        "120.0",
        "T-1200",
        "order_1200",
        "1200px",
        "0.350",
        "1.200.1.1",
        "12 00",
        "3,500",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert PRIVATE.redact(text) is text


def test_a_small_sum_is_found_where_it_is_money() -> None:
    text = "50 people, $50 or 50 dollars, EUR 50 or 50.00, 50 % and 150"
    shown = "50 people, $[private] or [private] dollars, EUR [private] or [private], 50 % and 150"
    assert PRIVATE.redact(text) == shown


def test_numbers_in_ids_and_times_stay() -> None:
    private = PrivateText.of(["In 2031 the limit was 7300, with 1200 on top"])
    text = "2031-05-01T12:00:00.7300+00:00 0199a1b2-7300-7300-1200-0199a1b27300"
    assert private.redact(text) is text
    assert private.redact("7300 in 2031") == "[private] in [private]"


def test_hits_side_by_side_become_one() -> None:
    assert PRIVATE.redact("CANARY-7f3a, (1200) / ZEBRAFISH!") == "[private]!"
    assert PRIVATE.redact('"CANARY-7f3a", "1200"') == '"[private]", "[private]"'


# Other spellings


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("CAN\u00adARY-7f\u200b3a", "[private]"),
        ("a CANARY\u20117f3a b CANARY\u20137f3a c", "a [private] b [private] c"),
        ("a CANARY\\-7f3a b", "a [private] b"),
        ("**CANARY**-7f3a", "**[private]"),
        ("a CANARY-\n7f3a\tb", "a [private]\tb"),
        ('"ＣＡＮＡＲＹ-7f3a"', '"[private]"'),
        ("是CANARY-7f3a的", "是[private]的"),
        ("die grossere STRASSEN führen naive Leute", "die [private] Leute"),
        (unicodedata.normalize("NFD", "größere straßen führen naïve"), "[private]"),
        ("ask “the lead” ‘first’", "[private]’"),
        ("1\u200b200 and 1,2\u200b00", "[private] and [private]"),
    ],
)
def test_other_spellings_are_found(text: str, shown: str) -> None:
    assert PRIVATE.redact(text) == shown
    for ascii_only in (True, False):
        line = json.dumps([text], ensure_ascii=ascii_only)
        assert json.loads(PRIVATE.redact(line)) == [shown]
        assert json.loads(json.loads(PRIVATE.redact(json.dumps(line)))) == [shown]
    assert unquote(PRIVATE.redact(quote(text))) == shown
    assert unquote(unquote(PRIVATE.redact(quote(quote(text))))) == shown


def test_a_path_with_backslashes_is_found_in_json() -> None:
    private = PrivateText.of([r"The files are in C:\new\tables\R2D2-9 on the server"])
    text = r"They are in C:\new\tables\R2D2-9 on it"
    for way in (text, json.dumps(text), json.dumps({"a": [json.dumps(text)]})):
        assert "R2D2" not in private.redact(way)
        assert "tables" not in private.redact(way)
    assert json.loads(private.redact(json.dumps(text)))


def test_text_in_a_script_without_spaces() -> None:
    private = PrivateText.of(["退款上限为每位客户每年一千二百元,超过需要主管批准。"])
    assert private.redact("我们说:退款上限为每位客户每年一千二百元。") == "我们说:[private]。"
    assert private.redact("客户每年都来") == "客户每年都来"


# Properties

WORD = st.text("abcdefgh", min_size=1, max_size=3)
BETWEEN = st.sampled_from([" ", ", ", "\n", " **", "** ", " | ", "\n- ", " – ", "\u00a0"])
CODES = st.one_of(
    st.from_regex(r"[A-Z]{2,6}-[0-9]{2}[a-f]{1,4}", fullmatch=True),
    st.from_regex(r"[a-z]{3}[0-9]{3,5}", fullmatch=True),
    st.from_regex(r"[A-Z]{6,9}", fullmatch=True),
    st.from_regex(r"[a-z]{1,5}\.[a-z]{1,5}@[a-z]{2,6}\.(com|example)", fullmatch=True),
    st.from_regex(r"https://[a-z]{2,5}\.example/[a-z]{1,4}[0-9]?", fullmatch=True),
    st.from_regex(r"[1-9][0-9]{2,6}(\.[0-9]{2})?", fullmatch=True),
    st.uuids().map(str),
)


@given(st.lists(WORD), CODES, st.lists(WORD), st.text(), st.text(), BETWEEN)
def test_a_canary_never_survives(
    before: list[str], canary: str, after: list[str], left: str, right: str, between: str
) -> None:
    private = PrivateText.of([" ".join([*before, canary, *after])])
    assume(canary.lower() not in f"{left} {right}".lower())
    text = f"{left}{between}{canary}{between}{right}"
    assert private.leaks(text)
    assert canary.lower() not in private.redact(text).lower()
    for way in (
        json.dumps({"a": text}),
        json.dumps({"a": text}, ensure_ascii=False),
        json.dumps([json.dumps(text)]),
    ):
        assert canary.lower() not in private.redact(way).lower()


@given(CODES.filter(lambda code: not code[0].isdigit()), st.text(), st.text())
def test_json_stays_json(canary: str, left: str, right: str) -> None:
    private = PrivateText.of([f"is {canary} now"])
    document = {f"{left} {canary}": [f"{canary} {right}", canary], "plain": f'"{canary}" \\ {left}'}
    shown = json.loads(private.redact(json.dumps(document)))
    assert len(shown) == len(document)
    assert canary not in json.dumps(shown)


@given(CODES, st.lists(WORD, min_size=1))
def test_a_canary_never_survives_in_a_url(canary: str, words: list[str]) -> None:
    private = PrivateText.of([f"is {canary} now"])
    text = f"{' '.join(words)} {canary} {' '.join(words)}"
    for way in (quote(text), quote_plus(text), quote(quote(text, safe=""))):
        url = f"https://host.example/?q={way}&x=1"
        shown = private.redact(url)
        assert shown != url
        assert shown.startswith("https://host.example/?q=")
        assert shown.endswith("&x=1")


@given(st.lists(WORD, min_size=9, max_size=40), st.lists(st.tuples(WORD, BETWEEN), max_size=40))
def test_four_words_in_a_row_and_nothing_else(words: list[str], text: list[tuple[str, str]]) -> None:
    """The same by hand: cover every run of four, keep the rest."""
    runs = {tuple(words[at : at + 4]) for at in range(len(words) - 3)}
    said = [word for word, _ in text]
    starts = [at for at in range(len(said) - 3) if tuple(said[at : at + 4]) in runs]
    covered = {at + more for at in starts for more in range(4)}
    expected = ""
    for hidden, group in groupby(enumerate(text), lambda item: item[0] in covered):
        pairs = [pair for _, pair in group]
        kept = "".join(word + between for word, between in pairs)
        expected += MARK + pairs[-1][1] if hidden else kept
    private = PrivateText.of([" ".join(words)])
    assert private.redact("".join(word + between for word, between in text)) == expected


@given(st.text().filter(lambda text: "z" not in unicodedata.normalize("NFKD", text).casefold()))
@example("% \\ \\n \\u %2 \\u00 %C3%28 \ud800 [private] ’ \u200b")
def test_text_without_private_content_is_the_same_text(text: str) -> None:
    private = PrivateText.of(["zab zcd zef zgh\nzebra zz\nZANZIBAR zen-99 z@z.zz http://z.zz/z"])
    assume("7a" not in text.lower())
    assume("5a" not in text.lower())
    assert private.redact(text) is text
    assert not private.leaks(text)


PIECES = st.sampled_from(
    [
        *(
            "CANARY",
            "-",
            "7f3a",
            " ",
            "1200",
            "1",
            ",",
            "200",
            ".",
            "\\",
            "\\n",
            "\\u0043",
            "%20",
            "%",
            '"',
            "T",
        ),
        *(
            "[private]",
            "the limit is",
            "ask the lead",
            "first",
            "one",
            "voucher",
            "$",
            "50",
            "EUR",
            "\u200b",
            "é",
        ),
        *(
            "intra.acme",
            "example",
            "Zebrafish",
            "2031-05-01",
            "k",
            "'",
            "350",
            "限",
            "\n",
            "_",
            "00",
            "2031",
            "-05-01",
        ),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
@example("CANARY-7f3a\\u0043ANARY-7f3a")
@example("ZEBRAFISH-1200")
def test_once_is_enough(text: str) -> None:
    shown = PRIVATE.redact(text)
    assert PRIVATE.redact(shown) == shown
    assert not PRIVATE.leaks(shown)
    assert PRIVATE.leaks(text) == (shown != text)


# Documents


def test_strings_and_keys_of_a_document() -> None:
    document = {
        "CANARY-7f3a": 1,
        "for 1201 or 1200": ["the ZEBRAFISH", {"deep": ("CANARY-7f3a", None, True)}],
        3: 1200,
    }
    shown = PRIVATE.redact_document(document)
    assert shown == {MARK: 1, f"for 1201 or {MARK}": [f"the {MARK}", {"deep": [MARK, None, True]}], 3: 1200}
    assert document["CANARY-7f3a"] == 1, "the document itself stays"


def test_two_private_keys_stay_two() -> None:
    document = {"CANARY-7f3a": 1, "canary-7F3A": 2, "ZEBRAFISH": 3, MARK: 4}
    shown = PRIVATE.redact_document(document)
    assert sorted(shown.values()) == [1, 2, 3, 4]
    assert all(key.startswith(MARK) for key in shown)
    assert PRIVATE.redact_document(shown) == shown


def test_the_names_of_fields_stay() -> None:
    document = {"one_voucher": "one_voucher", "outcome": "completed", "tulip_fields_1200": 1}
    private = PrivateText.of([f"{BODY}\ncompleted\n\nDEAD LETTER\n"])
    assert private.redact_document(document) == {
        "one_voucher": MARK,
        "outcome": "completed",
        f"{MARK}_1200": 1,
    }
    assert private.redact("a dead_letter, then completed") == "a dead_letter, then completed"


def test_numbers_of_a_document_on_request() -> None:
    document = {"limit": 1200, "sums": [350.0, 12, 1200.5, True], "text": "1200"}
    assert PRIVATE.redact_document(document)["limit"] == 1200
    shown = PRIVATE.redact_document(document, numbers=True)
    assert shown == {"limit": MARK, "sums": [MARK, 12, 1200.5, True], "text": MARK}


def test_a_document_may_be_deep() -> None:
    document: object = "CANARY-7f3a"
    for _ in range(20_000):
        document = [document]
    shown = PRIVATE.redact_document(document)
    while isinstance(shown, list):
        shown = shown[0]
    assert shown == MARK


@pytest.mark.parametrize("texts", [[], [""], ["---\n\n|||\n"], ["a b c"]])
def test_nothing_private(texts: list[str]) -> None:
    nothing = PrivateText.of(texts)
    document = {"a b c": ["CANARY-7f3a"]}
    assert not nothing
    assert nothing.redact_document(document) is document
    assert not nothing.leaks("a b c")


# Packages


@pytest.fixture
def desk(tmp_path: Path) -> PackageOnDisk:
    """A package with a private file beside the public ones."""
    package = PackageOnDisk(tmp_path / "clean-expert")
    for path, text in CLEAN.items():
        package.write(path, text)
    package.replace(
        "expert.yaml", "knowledge: [knowledge/facts.md]", "knowledge: [knowledge/facts.md, knowledge/own.md]"
    )
    package.write("knowledge/own.md", f"---\nname: own\ndescription: Our own\ntype: private\n---\n{BODY}")
    return package


def test_private_files_of_a_package(desk: PackageOnDisk) -> None:
    private = PrivateText.of_package(desk.load())
    assert private.redact("it is CANARY-7f3a") == f"it is {MARK}"
    assert private.redact("Our own and clean-expert") == "Our own and clean-expert"


@pytest.mark.parametrize(
    "path",
    [
        "orchestrator.md",
        "persona/identity.md",
        "functions/classify.md",
        "knowledge/facts.md",
        "state/notes.md",
    ],
)
def test_what_other_files_say_is_not_private(desk: PackageOnDisk, path: str) -> None:
    desk.append(path, "\nAsk *the lead first*: canary-7f3a, $1200.00, zebrafish, bartholomew\n")
    private = PrivateText.of_package(desk.load())
    for text in ("ask the lead first", "CANARY-7f3a", "1,200", "ZEBRAFISH", "Bartholomew"):
        assert private.redact(text) == text
    assert private.redact("lead first write to") == MARK
    assert private.redact("350 and one voucher") == f"{MARK} and {MARK}"


def test_the_manifest_and_the_tools_are_public(desk: PackageOnDisk) -> None:
    desk.replace("expert.yaml", "A package with nothing wrong in it", "About the Tulip fields")
    desk.replace("tools/crm.yaml", "description: Contacts", "description: Contacts up to 350")
    private = PrivateText.of_package(desk.load())
    assert private.redact("tulip fields up to 350") == "tulip fields up to 350"


def test_a_public_mention_of_less_does_not_open_more(desk: PackageOnDisk) -> None:
    desk.append("orchestrator.md", "\nThe limit is secret. 12 vouchers, 7f3a, page 1, 200.\n")
    private = PrivateText.of_package(desk.load())
    assert private.redact("CANARY-7f3a or 1,200") == f"{MARK} or {MARK}"


def test_a_package_without_private_files(desk: PackageOnDisk) -> None:
    desk.replace("knowledge/own.md", "type: private", "type: static")
    assert not PrivateText.of_package(desk.load())


def test_the_example_keeps_its_limits() -> None:
    root = Path(__file__).parents[3] / "examples" / "support-desk-expert"
    package = read_package(root).package
    assert package is not None
    private = PrivateText.of_package(package)
    assert private.redact("Above 300 the lead decides.") == f"{MARK} the lead decides."
    assert private.redact("Two customers with one delivery address!") == f"{MARK}!"
    for item in (*package.functions, *package.processes):
        assert private.redact(item.body) == item.body


def test_the_private_text_of_a_snapshot(desk: PackageOnDisk, tmp_path: Path) -> None:
    package = desk.load()
    snapshots = tmp_path / "packages"
    assert not private_text(snapshots, package.digest), "it is not there yet"
    folder = take_snapshot(package, snapshots)
    private = private_text(snapshots, package.digest)
    assert private.leaks("CANARY-7f3a")
    assert private_text(snapshots, package.digest) is private
    (folder / "expert.yaml").unlink()
    assert private_text(snapshots, package.digest) is private, "what was known stays private"


@pytest.mark.parametrize("digest", ["", "0" * 64, "nothing-here"])
def test_no_snapshot_is_nothing_private(tmp_path: Path, digest: str) -> None:
    assert not private_text(tmp_path, digest)


# Speed


def prose(size: int) -> str:
    """Words that repeat seldom, with lines, codes and numbers among them."""
    made = [
        f"w{(at * 7919) % 4999:x}x {at % 997} A{at:x}-7" if at % 9 == 0 else f"w{(at * 31) % 4999:x}x"
        for at in range(size // 6)
    ]
    return " ".join(made)[:size]


def seconds(work: object, *arguments: object) -> float:
    begun = time.process_time()
    work(*arguments)  # type: ignore[operator]
    return time.process_time() - begun


def best(work: object, *arguments: object) -> float:
    return min(seconds(work, *arguments) for _ in range(3))


def test_a_text_takes_time_by_its_length() -> None:
    """Four times the text may take ten times as long on a busy machine; sixteen would be its square."""
    text, quarter = prose(80_000), prose(20_000)
    assert best(PrivateText.of, [text]) < 10 * best(PrivateText.of, [quarter])
    private = PrivateText.of([text])
    other = ("plain words about nothing in particular, 12 of them\n" * 8_000)[:400_000]
    assert best(private.redact, other) < 10 * best(private.redact, other[:100_000])
    document = json.dumps(other)
    assert best(private.redact, document) < 10 * best(private.redact, document[:100_000])


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "a1-",
        "1,",
        "100,",
        "1.",
        "\\",
        "\\u0041",
        "%25",
        "%",
        "\u200b",
        "é",
        "'",
        '"',
        "a@",
        "/",
        "http://",
        "CANARY-7f3a ",
        "|",
        "[",
        "限",
    ],
)
def test_nothing_takes_more_than_its_share(piece: str) -> None:
    """A few times what it takes; were it to grow with the square, it would take minutes."""
    text = piece * (75_000 // len(piece))
    private = PrivateText.of([BODY, text[:15_000]])
    assert seconds(private.redact, text) < 10
    assert seconds(PrivateText.of, [text]) < 10


def test_private_files_that_cannot_be_opened_now_are_not_taken_for_public(desk: PackageOnDisk) -> None:
    """What is kept of them is kept for good, so an empty answer would open them for good."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            private_bodies(desk.root, "clean-expert")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert any("CANARY-7f3a" in body for body in private_bodies(desk.root, "clean-expert"))
