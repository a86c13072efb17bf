"""colleague serve prints a line for all that happens."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pyjson5

from tests.acceptance.provider import HELLO, OVERLOADED, providing, use
from tests.acceptance.served_office import push
from tests.acceptance.test_model_trouble import AT_ONCE, Started, newest, started
from tests.conftest import SALES, Colleague
from tests.forked import forked_command
from tests.office import Office

TRIAGE = ("--process", "inbound-email-triage", "--input", "message_id=m-acme-pricing")
REHEARSAL = "rehearsal/walkthrough"
UNREAD = r"delivery of run \w+ waits to be read: colleague delivery list"


@contextmanager
def serving(colleague: Colleague, *options: str, **environment: str) -> Iterator[Started]:
    with started(colleague, "serve", "--port", "0", *options, **environment) as gateway:
        gateway.until(lambda each: any("listens on" in line for line in each.out))
        yield gateway
        gateway.child.send_signal(signal.SIGTERM)
        assert gateway.child.wait(120) == 0


def have_it_done(office: Office) -> None:
    assert office.run(SALES, *TRIAGE, model=REHEARSAL).code == 4
    [approval] = office.pending()
    office.colleague.ok("approve", approval["id"][-8:], timeout=120)


def test_a_run_from_its_event_to_its_delivery(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    with serving(colleague) as gateway:
        have_it_done(office)
        gateway.until(lambda each: any("was read by" in line for line in each.out))
    said = [line.split(" ", 1)[1].strip() for line in gateway.out[1:]]
    wanted = [
        rf"event \w+ accepted: {SALES} \(api\), run \w+",
        rf"run \w+ of {SALES} \(inbound-email-triage\) started",
        rf"confirm \w+ asked by run \w+ of {SALES}: crm\.\w+",
        rf"confirm \w+ of run \w+ \({SALES}\): approve by \w+",
        rf"run \w+ of {SALES} \(inbound-email-triage\) goes on",
        rf"run \w+ of {SALES} completed after \d+ s",
        r"delivery of run \w+ was read by \w+",
    ]
    places = [next((at for at, line in enumerate(said) if re.fullmatch(each, line)), None) for each in wanted]
    assert None not in places, said
    assert places == sorted(places, key=lambda each: each or 0)


def test_a_result_that_nobody_waits_for_waits_to_be_read(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    with serving(colleague) as gateway:
        assert (
            office.run(SALES, "--process", "scan-for-opportunities", "--no-wait", model=REHEARSAL).code == 0
        )
        gateway.until(lambda each: any(re.search(UNREAD, line) for line in each.out))
        [delivery] = colleague.ok("delivery", "list", "--json").json
        colleague.ok("delivery", "read", delivery["id"])
        gateway.until(lambda each: any("was read by" in line for line in each.out))


def test_quiet_is_quiet_and_json_is_json(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    with serving(colleague, "--quiet") as gateway:
        have_it_done(office)
    assert len(gateway.out) == 1
    with serving(colleague, "--log-json") as gateway:
        colleague("agent", "hello\n\x1b[2J", "--model", office.play({"text": "Hi."}))
        gateway.until(lambda each: any("run completed" in line for line in each.out))
    first, *rest = [json.loads(line) for line in gateway.out]
    assert first["kind"] == "ready"
    assert [each["kind"] for each in rest][:3] == ["event accepted", "run started", "run completed"]
    assert all(each["run"] == newest(colleague)["id"] for each in rest[:3])


def test_a_gateway_goes_on_when_the_one_who_waits_leaves(colleague: Colleague) -> None:
    with providing(OVERLOADED) as provider:
        use(colleague, provider)
        with serving(colleague) as gateway:
            with started(colleague, "agent", "hello") as process:
                process.until(lambda each: "local/m1 answers 500" in "".join(each.err))
                code, seconds = process.interrupt()
                assert (code, seconds < AT_ONCE) == (130, True)
                ending = newest(colleague)["id"][-8:]
                goes_on = f"the gateway goes on with run {ending}; watch: colleague run watch {ending}"
                process.until(lambda each: goes_on in "".join(each.err))
            assert "asks its model again" in "".join(gateway.out)
            resumed = colleague("run", "resume", ending)
            assert resumed.code == 0
            assert f"the gateway has run {ending}" in resumed.err
            assert "nobody works" not in colleague.ok("run", "show", ending).out
            provider.answer(HELLO)
            assert colleague("run", "watch", ending, timeout=90).code == 0


def test_a_gateway_that_nobody_reads_goes_on(colleague: Colleague) -> None:
    """As in `colleague serve | head -1`: whoever read the first line has gone."""
    office = Office.open(colleague)
    model = office.play(*({"text": "Hi."} for _ in range(3)))
    command = forked_command("-m", "colleague", "serve", "--port", "0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=colleague.environment({})
    ) as gateway:
        assert gateway.stdout is not None
        assert "listens on" in gateway.stdout.readline()
        gateway.stdout.close()
        for _ in range(3):
            assert colleague("agent", "hello", "--model", model).out == "Hi.\n"
        gateway.terminate()
        assert gateway.wait(120) == 0


def test_a_push_that_is_looked_up_is_not_called_held(colleague: Colleague) -> None:
    office = Office.open(colleague)
    office.employ(SALES)
    settings = colleague.home / "colleague.json"
    document = pyjson5.loads(settings.read_text())
    settings.write_text(json.dumps(document | {"hooks": {"token": "a-token-of-all-hooks"}}))
    colleague.ok("expert", "enable", SALES)
    with serving(colleague) as gateway:
        url = re.findall(r"http://\S+?(?=;|\s|$)", gateway.out[0])[0]
        headers = {"x-openclaw-token": "a-token-of-all-hooks"}
        assert httpx2.post(f"{url}/hooks/gmail", json=push(1, 1001), headers=headers).status_code == 202
        gateway.until(lambda each: any(f"{SALES}/gmail (pubsub)" in line for line in each.out))
    [line] = [line for line in gateway.out if f"{SALES}/gmail (pubsub)" in line]
    assert " accepted: " in line
