"""Plugins as a person has them: a folder in the home, enabled by a command, seen at work in a gateway."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from colleague.hooks.events import HOOKS
from tests.acceptance.test_approve import serving
from tests.conftest import ROOT, SALES, Colleague
from tests.office import Office, call

WATCHER = '''
import json, threading
HOOKS = """{hooks}""".split()
lock = threading.Lock()

def register(api):
    seen = api.data / "seen.jsonl"
    def note(event):
        with lock, seen.open("a") as file:
            file.write(json.dumps([event.hook, vars(event)], default=str) + "\\\\n")
    def noting(hook):
        async def handler(event):
            note(event)
        return handler
    for hook in HOOKS:
        api.on(hook, note if hook == "tool_result_persist" else noting(hook))
    async def weather(arguments, call):
        return "Sunny in " + arguments["place"]
    api.add_tool("weather", "The weather.", weather, parameters={{"type": "object",
        "properties": {{"place": {{"type": "string"}}}}, "required": ["place"]}}, reads=True)
'''.replace("\\\\n", "\\n")

LAB = """
def register(api):
    class Lab:
        def model(self, name):
            from pydantic_ai.models.function import FunctionModel
            async def stream(messages, info):
                yield f"I am {name} of the lab."
            return FunctionModel(stream_function=stream)
    api.add_model_provider("lab", Lab())
"""


def plugin(colleague: Colleague, name: str, text: str) -> Path:
    folder = colleague.home / "plugins" / name
    folder.mkdir(parents=True)
    (folder / "plugin.py").write_text(text)
    return folder


def seen(colleague: Colleague) -> list[tuple[str, dict[str, Any]]]:
    file = colleague.home / "state" / "plugin-data" / "watcher" / "seen.jsonl"
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def wait_for(colleague: Colleague, hook: str) -> None:
    deadline = time.monotonic() + 60
    while hook not in dict(seen(colleague)):
        assert time.monotonic() < deadline, f"{hook} never came; there were {Counter(dict(seen(colleague)))}"
        time.sleep(0.1)


@pytest.fixture
def home(colleague: Colleague) -> Colleague:
    colleague.home.mkdir(parents=True)
    return colleague


def test_each_of_the_fifteen_hooks_is_seen_by_a_plugin_of_the_home(home: Colleague) -> None:
    plugin(home, "watcher", WATCHER.format(hooks=" ".join(HOOKS)))
    play = home.home / "play.yaml"
    long = {"text": "It is a long story. " * 60}
    replies = [
        {"when": r"/^How is the weather\?$/", **call("weather", place="Rome")},
        {"when": "/Sunny in Rome\n</data>$/", **long},
        {"when": r"/^And then\?$/", **long},
        {"text": "They spoke about the weather."},
    ]
    play.write_text(json.dumps({"replies": replies}))
    settings = {"agents": {"defaults": {"model": {"primary": f"script/{play}"}}}}
    (home.home / "colleague.json").write_text(json.dumps(settings))
    [off] = home.ok("plugin", "list", "--json").json
    assert (off["name"], off["status"], off["hooks"]) == ("watcher", "off", [])
    enabled = home.ok("plugin", "enable", "watcher", "--json").json
    assert (enabled["status"], enabled["hooks"]) == ("on", sorted(HOOKS))
    assert seen(home) == []

    with serving(home):
        wait_for(home, "gateway_start")
        for text in ("How is the weather?", "And then?", "And then?", "/compact", "/new"):
            home("agent", text)
        home("session", "reset", "main")
        for hook in HOOKS:
            if hook != "gateway_stop":
                wait_for(home, hook)
    wait_for(home, "gateway_stop")
    events = dict(seen(home))
    assert events["before_tool_call"]["params"] == {"place": "Rome"}
    assert events["tool_result_persist"]["text"] == "Sunny in Rome"
    assert (
        events["after_tool_call"]["source" if "source" in events["after_tool_call"] else "tool"] == "weather"
    )
    assert events["agent_end"]["outcome"] == "completed"
    assert events["after_compaction"]["outcome"] == "completed"


class TestBroken:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("def register(api:\n", "SyntaxError"),
            ("def register(api):\n    raise ValueError('no key')\n", "ValueError: no key"),
            ("x = 1\n", "no function register(api)"),
            ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
            ("def register(api):\n    api.on('agent_begin', print)\n", "there is no hook 'agent_begin'"),
            ("def register(api):\n    api.add_tool('a b', '', print)\n", "'a b' is no name of a tool"),
        ],
    )
    def test_one_that_cannot_be_loaded_is_reported_and_stops_nothing(
        self, home: Colleague, text: str, said: str
    ) -> None:
        plugin(home, "bad", text)
        assert home("plugin", "enable", "bad").code == 1
        [row] = home.ok("plugin", "list", "--json").json
        assert row["status"] == "broken"
        assert said in row["problems"][0]["message"]

    def test_the_others_go_on(self, home: Colleague) -> None:
        """One cannot be loaded, two take names that exist, one raises, one hangs: the turn is answered."""
        plugin(home, "broken", "def register(api:\n")
        tool = "def register(api):\n    api.add_tool('{0}', 'Tells.', lambda *_: '{1}', reads=True)\n"
        plugin(home, "first", tool.format("weather", "first"))
        plugin(home, "second", tool.format("weather", "second"))
        plugin(home, "third", tool.format("read", "third"))
        hook = "def register(api):\n    api.on('before_tool_call', bad)\n"
        plugin(home, "raises", hook + "async def bad(event):\n    raise ValueError('oh')\n")
        plugin(home, "hangs", "import time\n" + hook + "def bad(event):\n    time.sleep(300)\n")
        play = home.home / "play.yaml"
        play.write_text(json.dumps({"replies": [call("weather"), {"text": "Fine."}]}))
        settings = {
            "agents": {"defaults": {"model": {"primary": f"script/{play}"}}},
            "plugins": {"hookTimeoutSeconds": 0.2},
        }
        (home.home / "colleague.json").write_text(json.dumps(settings))
        for name in ("broken", "first", "second", "third", "raises", "hangs"):
            home("plugin", "enable", name)
        said = home.ok("agent", "Weather?", "--json").json
        assert "Fine." in json.dumps(said)
        found = {row["name"]: row for row in home.ok("plugin", "list", "--json").json}
        problems = {
            name: " ".join(each["message"] for each in row["problems"]) for name, row in found.items()
        }
        assert "SyntaxError" in problems["broken"]
        assert problems["first"] == ""
        assert "'weather' exists already" in problems["second"]
        assert "'read' exists already" in problems["third"]
        assert "ValueError: oh" in problems["raises"]
        assert "not done within 0.2 s" in problems["hangs"]
        doctor = home("doctor").out
        assert "ValueError: oh" in doctor
        assert "'weather' exists already" in doctor
        [run] = home.ok("run", "list", "--json").json
        [made] = home.ok("run", "show", run["id"], "--json").json["calls"]
        assert made["result"] == {"text": "first", "source": "plugin:first/weather"}


def test_changed_files_are_asked_about_again(home: Colleague) -> None:
    folder = plugin(home, "quiet", "def register(api):\n    api.on('agent_end', print)\n")
    home.ok("plugin", "enable", "quiet")
    (folder / "more.txt").write_text("data that it reads")
    [row] = home.ok("plugin", "list", "--json").json
    assert row["status"] == "changed"
    assert "colleague plugin enable quiet" in home("doctor").out
    home.ok("plugin", "enable", "quiet")
    assert home.ok("plugin", "list", "--json").json[0]["status"] == "on"
    home.ok("plugin", "disable", "quiet")
    assert home.ok("plugin", "list", "--json").json[0]["status"] == "off"
    assert home("plugin", "enable", "nobody").code != 0


def test_a_cache_of_python_that_somebody_put_there_is_never_run(home: Colleague) -> None:
    """The digest does not cover it, so it must not count."""
    import py_compile

    folder = plugin(home, "quiet", "from . import helper\ndef register(api):\n    helper.work()\n")
    (folder / "helper.py").write_text("def work():\n    raise ValueError('evil')\n")
    py_compile.compile(
        str(folder / "helper.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    (folder / "helper.py").write_text("def work():\n    pass\n")
    home.ok("plugin", "enable", "quiet")


def test_a_tool_of_a_plugin_asks_first_and_an_answer_can_be_held_back(home: Colleague) -> None:
    plugin(
        home,
        "shop",
        "def register(api):\n"
        "    api.add_tool('buy', 'Buys.', lambda _, call: (api.data / 'bought').write_text(call.key))\n"
        "    api.on('message_sending', lambda e: {'cancel': 'secret' in e.text, 'reason': 'a secret'})\n",
    )
    play = home.home / "play.yaml"
    play.write_text(json.dumps({"replies": [call("buy"), {"text": "The secret is rosebud."}]}))
    settings = {"agents": {"defaults": {"model": {"primary": f"script/{play}"}}}}
    (home.home / "colleague.json").write_text(json.dumps(settings))
    home.ok("plugin", "enable", "shop")
    said = home("agent", "Buy it.")
    assert said.code == 4
    bought = home.home / "state" / "plugin-data" / "shop" / "bought"
    assert not bought.exists()
    assert "rosebud" not in said.out + said.err
    items = home.ok("session", "show", "main", "--json").json
    assert "not sent, held back by the plugin shop: a secret" in json.dumps(items)
    assert "rosebud" not in json.dumps(items)
    [asked] = home.ok("approval", "list", "--json").json
    assert asked["operation"] == "buy"
    home("approve", asked["id"])
    deadline = time.monotonic() + 60
    while not bought.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert bought.exists()


def test_a_model_of_a_plugin_answers_agents_and_experts(home: Colleague) -> None:
    plugin(home, "lab", LAB)
    assert "there is no model provider 'lab'" in home("agent", "Hi", "--model", "lab/one").err
    home.ok("plugin", "enable", "lab")
    assert home.ok("agent", "Hi", "--model", "lab/one").out == "I am one of the lab.\n"

    Office.open(home).employ(SALES)
    with (home.expert() / "bindings.yaml").open("a") as file:
        file.write("model: lab/two\n")
    found = home("expert", "validate", SALES, "--json").json["findings"]
    assert "binding-model-unknown" not in [each["code"] for each in found]
    with serving(home):
        assert home.ok("agent", "Hi", "--model", "lab/one").out == "I am one of the lab.\n"
        assert "I am two of the lab." in home("expert", "run", SALES, "Hi").out

    shutil.rmtree(home.home / "plugins")
    found = home("expert", "validate", SALES, "--json").json["findings"]
    assert "binding-model-unknown" in [each["code"] for each in found]


def test_the_example_keeps_mail_inside_and_tells_what_was_done(colleague: Colleague) -> None:
    office = Office.open(colleague)
    shutil.copytree(ROOT / "examples" / "plugins" / "mail-guard", colleague.home / "plugins" / "mail-guard")
    file = colleague.home / "colleague.json"
    entry = '"mail-guard": {config: {domains: ["acme.example"]}}'
    file.write_text(file.read_text().removesuffix("}") + f", plugins: {{entries: {{{entry}}}}}}}")
    colleague.ok("plugin", "enable", "mail-guard")
    mail = {"subject": "Hello", "body": "Hi."}
    model = office.play(
        call("office.send", to="eve@evil.example", **mail),
        call("office.send", to="Ann@Acme.Example", **mail),
        {"text": "Done."},
    )
    colleague("agent", "Write to both.", "--model", model)
    first, second = office.last_run()["calls"]
    assert first["status"] == "refused"
    assert "eve@evil.example is outside of acme.example" in first["result"]["text"]
    assert (second["status"], second["arguments"]["to"]) == ("parked", "ann@acme.example")
    [asked] = office.pending()
    assert asked["arguments"]["to"] == "ann@acme.example"
    assert "The plugin mail-guard changed the arguments" in asked["reasoning"]
    assert office.effects == []
