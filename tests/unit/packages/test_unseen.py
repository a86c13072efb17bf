"""Any package that follows the spec loads without an error, also one that nobody has seen before."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colleague.packages.package import Reading, read_package
from colleague.packages.part_name import is_path

Strategy = st.SearchStrategy[Any]

PRINTABLE = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
TEXT = st.text(PRINTABLE, min_size=1, max_size=20).filter(lambda text: text.strip())
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
NO_PATH = TEXT.map(str.strip).filter(lambda text: not is_path(text))
NAME = st.from_regex(r"[a-z]{2,8}(-[a-z]{2,8})?", fullmatch=True) | NO_PATH
FILE_NAME = st.text("abcXYZ019 _-.éß漢", max_size=10)
DURATION = st.builds("{}{}".format, st.integers(1, 5000), st.sampled_from("smhd"))
WORD = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
PAYLOAD_PATH = st.lists(WORD | WORD.map("{}[0]".format), min_size=1, max_size=4).map(".".join)
CRON = st.sampled_from(
    ["0 8 * * 1-5", "*/5 * * * *", "0 0 1 1 *", "30 0 8 * * *", "0 9 * * MON", "15,45 8-18 * * *"]
)
ZONE = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Sydney", "America/New_York"])
TIER = st.sampled_from(["auto", "confirm", "manual"])
MODE = st.sampled_from(["parallel", "serial", "serial_per_key"])
ANYTHING = st.recursive(
    TEXT | st.integers() | st.booleans(), lambda part: st.lists(part, max_size=3), max_leaves=4
)


def fields(required: dict[str, Strategy], optional: dict[str, Strategy]) -> Strategy:
    """A mapping with any of the optional fields, in any order."""
    chosen = st.fixed_dictionaries(required, optional=optional)
    return chosen.flatmap(lambda found: st.permutations(list(found.items()))).map(dict)


def some_of(known: list[str]) -> Strategy:
    return st.lists(st.sampled_from(known), max_size=3, unique=True) if known else st.just([])


def names(most: int, least: int = 0) -> Strategy:
    return st.lists(NAME, min_size=least, max_size=most, unique=True)


SIMPLE_TYPE = st.sampled_from(["string", "number", "boolean"]).map(lambda name: {"type": name})
SHAPE = st.recursive(
    SIMPLE_TYPE,
    lambda part: (
        st.builds(lambda items: {"type": "array", "items": items}, part)
        | st.builds(
            lambda properties: {"type": "object", "properties": properties},
            st.dictionaries(WORD, part, max_size=3),
        )
    ),
    max_leaves=5,
)
OBJECT = st.dictionaries(WORD, SHAPE, max_size=3).map(lambda found: {"type": "object", "properties": found})

RETRY = fields(
    {},
    {
        "max_attempts": st.integers(1, 50),
        "backoff": st.sampled_from(["fixed", "exponential"]),
        "delay": DURATION,
    },
)
EXECUTION = fields(
    {},
    {
        "timeout": DURATION,
        "idempotent": st.booleans(),
        "retry": RETRY,
        "on_failure": st.sampled_from(["escalate", "abandon", "dead_letter"]),
        "resume_from_execution_log": st.booleans(),
    },
)
DELIVERY = fields(
    {},
    {
        "format": st.sampled_from(["narrative", "structured", "both"]),
        "channel": st.just("main"),
        "sla": DURATION,
        "sla_breach": st.sampled_from(["warn", "escalate"]),
    },
)
LEARNING = fields(
    {}, {"enabled": st.booleans(), "approval": TIER, "max_entries_per_file": st.integers(1, 500)}
)
ESCALATION = fields(
    {}, {"channel": st.just("main"), "on_low_confidence": st.booleans(), "on_manual_ready": st.booleans()}
)


def policy(operations: list[str]) -> Strategy:
    approval = {
        "default": TIER,
        "overrides": st.dictionaries(
            st.sampled_from(operations) | TEXT if operations else TEXT, TIER, max_size=4
        ),
        "timeout": DURATION,
        "on_timeout": st.sampled_from(["reject", "escalate"]),
    }
    return fields({}, {"approval": fields({}, approval), "escalation": ESCALATION})


PARAMETER = fields(
    {"name": NAME, "type": st.sampled_from(["string", "number", "boolean", "object", "array"])},
    {"description": TEXT, "enum": st.lists(TEXT, min_size=1, max_size=3)},
)
PARAMETERS = st.lists(PARAMETER, max_size=3)
TAGS = st.lists(TEXT, max_size=3)


def function(name: str, tools: list[str], knowledge: list[str]) -> Strategy:
    optional = {
        "inputs": PARAMETERS,
        "outputs": PARAMETERS,
        "tools": some_of(tools),
        "knowledge": some_of(knowledge),
        "tags": TAGS,
        "session": st.sampled_from(["inline", "isolated"]),
    }
    return fields({"name": st.just(name), "description": TEXT}, optional)


def process(
    name: str, tools: list[str], functions: list[str], files: list[str], triggers: list[str]
) -> Strategy:
    optional = {
        "trigger": st.sampled_from(triggers) if triggers else NAME,
        "inputs": PARAMETERS,
        "outputs": PARAMETERS,
        "functions": some_of(functions),
        "tools": some_of(tools),
        "scratchpad": WORD.map("./scratch/{}-{{id}}.md".format),
        "tags": TAGS,
        "context": some_of(files),
        "execution": EXECUTION,
        "delivery": DELIVERY,
    }
    return fields({"name": st.just(name), "description": TEXT}, optional)


def trigger(name: str, processes: list[str], tools: list[str]) -> Strategy:
    required = {"name": st.just(name), "process": st.sampled_from(processes)}
    optional = {
        "preset": st.sampled_from(["gmail", "outlook"]),
        "requires_tool": st.sampled_from(tools) if tools else NAME,
        "tz": ZONE,
        "dedupe_key": PAYLOAD_PATH,
        "session": st.sampled_from(["isolated", "main"]),
        "concurrency": MODE,
        "concurrency_key": PAYLOAD_PATH,
        "payload_mapping": st.dictionaries(NAME, PAYLOAD_PATH, max_size=3),
        "description": TEXT,
    }
    event = fields(required | {"type": st.sampled_from(["webhook", "channel"])}, optional)
    schedule = fields(required | {"type": st.just("cron"), "expr": CRON}, optional)
    return event | schedule


OPERATION = fields(
    {"name": NAME, "description": TEXT}, {"approval": TIER, "input": OBJECT, "output": OBJECT | SHAPE}
)


def tool(name: str) -> Strategy:
    return fields(
        {"name": st.just(name), "description": TEXT, "operations": st.lists(OPERATION, max_size=3)}, {}
    )


STEP = st.builds("- [ ] {}\n".format, PROSE.map(lambda text: " ".join(text.split()))) | PROSE
BODY = st.lists(STEP, max_size=4).map("".join)
KNOWLEDGE = fields(
    {},
    {
        "name": NAME,
        "description": TEXT,
        "tags": TAGS,
        "type": st.sampled_from(["static", "dynamic", "private"]),
    },
)
STATE = fields({}, {"name": NAME, "description": TEXT, "scope": st.sampled_from(["persistent", "session"])})


class Author:
    """Writes one package, drawing every choice."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.files: dict[str, str] = {"README.md": draw(PROSE)}

    def write(self) -> dict[str, str]:
        tools, processes, triggers = self.draw(names(3)), self.draw(names(3)), self.draw(names(3))
        triggers = triggers if processes else []
        functions = self.draw(names(3, least=1))
        knowledge = [self.optional_head("knowledge", KNOWLEDGE) for _ in range(self.draw(st.integers(0, 2)))]
        state = [self.optional_head("state", STATE) for _ in range(self.draw(st.integers(0, 2)))]
        described = self.draw(some_of(tools))
        components = {
            "orchestrator": self.save(
                self.draw(st.sampled_from(["", "docs/"])) + "o", ".md", self.draw(PROSE)
            ),
            "persona": [
                self.save("persona/", ".md", self.draw(PROSE)) for _ in range(self.draw(st.integers(1, 3)))
            ],
            "functions": [
                self.with_head("functions", function(name, tools, knowledge)) for name in functions
            ],
            "processes": [
                self.with_head("processes", process(name, tools, functions, knowledge + state, triggers))
                for name in processes
            ],
            "tools": [self.save("tools/", ".yaml", self.dump(self.draw(tool(name)))) for name in described],
            "knowledge": knowledge,
            "state": state,
        }
        self.manifest(components, tools, [self.draw(trigger(name, processes, tools)) for name in triggers])
        self.unlisted()
        return self.files

    def manifest(self, components: dict[str, Any], tools: list[str], triggers: list[Any]) -> None:
        components = {kind: found for kind, found in components.items() if found or self.draw(st.booleans())}
        requires = fields({"tools": st.just(tools)} if tools else {}, {"mcp": ANYTHING, "python": ANYTHING})
        optional = {
            "author": TEXT,
            "license": TEXT,
            "requires": requires,
            "triggers": st.just(triggers),
            "concurrency": fields({}, {"default": MODE, "key": PAYLOAD_PATH}),
            "execution": EXECUTION,
            "delivery": DELIVERY,
            "learning": LEARNING,
            "policy": policy([f"{name}.get" for name in tools]),
            "outputs": st.lists(TEXT, max_size=3),
        }
        required = {
            "spec": st.sampled_from(["1.0", 1.0]),
            "name": NAME,
            "version": st.sampled_from(["1.0.0", "0.1.0-rc.1", "2026-01"]) | TEXT,
            "description": TEXT,
            "components": st.permutations(list(components.items())).map(dict),
        }
        needed = {
            name: optional.pop(name) for name, used in (("requires", tools), ("triggers", triggers)) if used
        }
        self.files["expert.yaml"] = self.dump(self.draw(fields(required | needed, optional)))

    def unlisted(self) -> None:
        """Files of the author's own."""
        for path in self.draw(
            some_of(["LICENSE", "notes/todo.txt", "functions/README.md", "knowledge/more.md"])
        ):
            self.files[path] = self.draw(PROSE)

    def with_head(self, folder: str, head: Strategy) -> str:
        text = f"---\n{self.dump(self.draw(head))}---\n{self.draw(BODY)}"
        return self.save(f"{folder}/", ".md", text)

    def optional_head(self, folder: str, head: Strategy) -> str:
        if self.draw(st.booleans()):
            return self.with_head(folder, head)
        return self.save(f"{folder}/", ".md", "# Title\n" + self.draw(PROSE))

    def save(self, start: str, end: str, text: str) -> str:
        """Saves a file under a new name and returns the path as an author may write it."""
        path = f"{start}{len(self.files)}{self.draw(FILE_NAME)}{end}"
        self.files[path] = text
        return self.draw(st.sampled_from(["", "./"])) + path

    def dump(self, data: Any) -> str:
        flow = self.draw(st.sampled_from([False, None, True]))
        unicode = self.draw(st.booleans())
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=unicode, default_flow_style=flow)


@st.composite
def packages(draw: Any) -> dict[str, str]:
    return Author(draw).write()


def read(files: dict[str, str], encoding: str, newline: str) -> Reading:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.replace("\r", "\n").replace("\n", newline).encode(encoding))
        return read_package(Path(folder))


@given(
    files=packages(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_package_that_follows_the_spec_has_no_error(
    files: dict[str, str], encoding: str, newline: str
) -> None:
    reading = read(files, encoding, newline)
    assert [str(finding) for finding in reading.findings.errors] == []
    components = yaml.safe_load(files["expert.yaml"])["components"]
    assert reading.package is not None
    for kind in ("persona", "functions", "processes", "tools"):
        assert len(getattr(reading.package, kind)) == len(components.get(kind, []))
