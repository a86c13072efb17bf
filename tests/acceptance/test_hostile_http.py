"""Hostile senders and pages at a gateway: guessing, other names of this machine, replays, long lists."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.clock import SystemClock
from colleague.experts.bindings import Signature
from colleague.gateway.client_address import client_address
from colleague.gateway.same_origin import is_loopback_host
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Ask, raise_asks
from colleague.store.ids import new_id
from colleague.store.run import get_run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import runs
from colleague.store.tx import Tx
from colleague.triggers.signature import sign, verify
from tests.conftest import Colleague
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BEARER, HOOK_BEARER, SECRET, TOKEN, House, Running

GUESSES = 15
LARGE = b'{"id": "large", "note": "' + b"x" * 900_000 + b'"}'


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("house") / "home").furnish()


@pytest.fixture
def gateway(house: House) -> Iterator[Running]:
    with house.open() as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One gateway for the tests that change nothing."""
    with House(tmp_path_factory.mktemp("shared") / "home").furnish().open() as running:
        yield running


@pytest.fixture(scope="module")
def tokenless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that asks nobody for a token: on loopback, with gateway.auth.mode none."""
    house = House(tmp_path_factory.mktemp("tokenless") / "home").furnish()
    house.configure(gateway={"auth": {"mode": "none"}})
    with house.open() as running:
        yield running


def raw_request(gateway: Running, request: bytes) -> tuple[int, str]:
    """Sends bytes as they are; the status and the code of the refusal, if it is one."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=120) as line:
        line.sendall(request)
        got = b""
        while chunk := line.recv(65536):
            got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    told = json.loads(body) if body.startswith(b"{") else {}
    return int(head.split()[1]), told.get("error", {}).get("code", "")


class TestGuessing:
    """Whoever guesses is slowed down; whoever has the secret is not, from whatever address."""

    def test_the_token_opens_after_any_number_of_wrong_ones(self, gateway: Running) -> None:
        wrong = [{"Authorization": f"Bearer {n}"} for n in range(GUESSES)]
        answers = [gateway.client.get("/api/runs", headers=each) for each in wrong]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 5
        assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
        assert gateway.get("/api/runs").status_code == 200
        assert gateway.client.get("/api/runs", headers=wrong[0]).status_code == 429

    def test_so_does_the_secret_of_all_hooks(self, gateway: Running) -> None:
        wrong = {"Authorization": "Bearer guess"}
        answers = [
            gateway.client.post(f"/hooks/{CLERK}/order", json={}, headers=wrong) for _ in range(GUESSES)
        ]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 5
        assert answers[-1].json()["error"]["code"] == "too-many-failures"
        assert gateway.hook(f"{CLERK}/order", {"id": "o-1"}).status_code == 202

    @pytest.mark.parametrize("body", [b'{"id": "small"}', LARGE], ids=["small", "large"])
    def test_so_does_a_signature(self, gateway: Running, body: bytes) -> None:
        path = f"/hooks/{CLERK}/signed"
        forged = sign("hmac-sha256", "another secret", body)
        answers = [gateway.client.post(path, content=body, headers=forged) for _ in range(GUESSES)]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 5
        right = sign("hmac-sha256", SECRET, body)
        assert gateway.client.post(path, content=body, headers=right).status_code == 202

    def test_behind_a_proxy_each_caller_is_counted_alone(self, house: House) -> None:
        house.configure(gateway=house.settings["gateway"] | {"trustedProxies": ["127.0.0.1"]})
        with house.open() as gateway:

            def tried_from(address: str) -> int:
                headers = {"Authorization": "Bearer guess", "X-Forwarded-For": address}
                return gateway.client.get("/api/runs", headers=headers).status_code

            codes = [tried_from(f"1.2.3.4, 203.0.113.{n}") for n in range(GUESSES)]
            assert codes == [401] * GUESSES
            codes = [tried_from(f"198.51.100.{n}, 203.0.113.200") for n in range(GUESSES)]
            assert codes == [401] * 10 + [429] * 5

    def test_nobody_else_can_say_where_they_come_from(self, gateway: Running) -> None:
        codes = [
            gateway.client.get(
                "/api/runs", headers={"Authorization": "Bearer x", "X-Forwarded-For": f"203.0.113.{n}"}
            ).status_code
            for n in range(GUESSES)
        ]
        assert codes == [401] * 10 + [429] * 5


PROXIES = ("10.0.0.0/8", "::1", "127.0.0.1")


def address_of(peer: str, *headers: tuple[str, str]) -> str:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return client_address({"client": (peer, 1), "headers": raw}, PROXIES)


class TestAddresses:
    @pytest.mark.parametrize(
        ("header", "found"),
        [
            ("203.0.113.7", "203.0.113.7"),
            ("1.1.1.1, 203.0.113.7", "203.0.113.7"),
            ("203.0.113.7, 10.1.2.3", "203.0.113.7"),
            ("203.0.113.7:4711", "203.0.113.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("10.1.2.3, 10.1.2.4", "10.1.2.3"),
            ("203.0.113.7, unknown, 10.1.2.3", "10.1.2.3"),
            ("203.0.113.7, ", "10.0.0.1"),
            ("no address", "10.0.0.1"),
            ("", "10.0.0.1"),
            ("fe80::1%eth0", "10.0.0.1"),
            ("203.0.113.7 evil", "10.0.0.1"),
        ],
    )
    def test_the_last_hop_that_is_no_trusted_proxy(self, header: str, found: str) -> None:
        assert address_of("10.0.0.1", ("X-Forwarded-For", header)) == found

    def test_several_lines_are_one_list(self) -> None:
        lines = [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-For", "203.0.113.8")]
        assert address_of("10.0.0.1", *lines) == "203.0.113.8"

    @pytest.mark.parametrize(
        ("header", "found"),
        [
            ("for=203.0.113.7", "203.0.113.7"),
            ('for="[2001:db8::1]:4711";proto=https, For=10.1.1.1', "2001:db8::1"),
            ("proto=http;for=203.0.113.7;by=10.0.0.1", "203.0.113.7"),
            ("for=203.0.113.7, for=_hidden", "10.0.0.1"),
            ("for=1.1.1.1;for=2.2.2.2", "10.0.0.1"),
            ("for=", "10.0.0.1"),
        ],
    )
    def test_forwarded(self, header: str, found: str) -> None:
        assert address_of("10.0.0.1", ("Forwarded", header)) == found

    def test_two_headers_that_differ_count_for_nothing(self) -> None:
        """A proxy sets one of them; the other is a stranger's."""
        both = [("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=198.51.100.1")]
        assert address_of("10.0.0.1", *both) == "10.0.0.1"
        agreed = [("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=203.0.113.7")]
        assert address_of("10.0.0.1", *agreed) == "203.0.113.7"

    def test_a_stranger_is_who_he_is(self) -> None:
        assert address_of("203.0.113.9", ("X-Forwarded-For", "10.0.0.5")) == "203.0.113.9"

    @given(st.text(max_size=200), st.text(max_size=200))
    @settings(max_examples=200)
    def test_no_header_breaks_it(self, one: str, other: str) -> None:
        latin = [text.encode("latin-1", "replace").decode("latin-1") for text in (one, other)]
        assert address_of("10.0.0.1", ("X-Forwarded-For", latin[0]), ("Forwarded", latin[1]))


NOT_OURS = [
    "evil@localhost",
    "localhost@evil.example",
    "user:password@127.0.0.1",
    "localhost.evil.example",
    "localhost.",
    "127.0.0.1.",
    "127.0.0.1.evil.example",
    "127.0.0.1.nip.io",
    "127.0.0.1, evil.example",
    "localhost evil.example",
    "localhost/",
    "localhost#",
    "localhost?",
    "localhost\\evil.example",
    "localhost:",
    "localhost:port",
    "localhost:0",
    "localhost:99999",
    "localhost:-1",
    "localhost:80:80",
    "127.1",
    "127.0.0.01",
    "127.0.0.256",
    "0x7f000001",
    "2130706433",
    "0.0.0.0",  # noqa: S104
    "::1",
    "[::1",
    "[::1]evil.example",
    "[::1%25lo]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1].evil.example",
    "loc\xe4lhost",
    "localhost\xa0",
    "",
]


class TestOtherNames:
    """A page whose name leads to this machine (DNS rebinding) comes with that name as Host."""

    @pytest.mark.parametrize("host", NOT_OURS)
    def test_a_host_that_is_not_exactly_ours(self, shared: Running, host: str) -> None:
        lines = f"Host: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        assert raw_request(shared, f"GET /api/runs HTTP/1.1\r\n{lines}".encode("latin-1")) == (
            403,
            "wrong-host",
        )

    @pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:65535", "127.9.9.9", "[::1]:80"])
    def test_ours(self, shared: Running, host: str) -> None:
        assert shared.client.get("/api/runs", headers=BEARER | {"Host": host}).status_code == 200

    @pytest.mark.parametrize(
        "lines",
        [
            "Host: localhost\r\nHost: evil.example\r\n",
            "Host: localhost\r\nhost: localhost\r\n",
            "",
            "Host:\r\n",
        ],
    )
    @pytest.mark.parametrize("path", ["/api/runs", "/healthz"])
    def test_none_or_several(self, shared: Running, lines: str, path: str) -> None:
        request = f"GET {path} HTTP/1.1\r\n{lines}Authorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        assert raw_request(shared, request.encode())[0] in (400, 403)

    @pytest.mark.parametrize(
        ("target", "status"),
        [
            ("http://evil.example/api/runs", 400),
            ("http://evil@localhost/api/runs", 400),
            ("http://localhost.evil.example/api/runs", 400),
            ("ftp://localhost/api/runs", 400),
            ("http://localhost", 400),
            ("localhost/api/runs", 400),
            ("*", 400),
            ("http://localhost/api/runs", 200),
            ("HTTP://LOCALHOST/api/runs", 200),
        ],
    )
    def test_a_target_that_is_a_whole_url(self, shared: Running, target: str, status: int) -> None:
        lines = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
        assert raw_request(shared, f"GET {target} HTTP/1.1\r\n{lines}".encode())[0] == status

    @given(st.text(max_size=40))
    def test_only_names_of_this_machine(self, host: str) -> None:
        name = host.rpartition(":")[0] or host
        if is_loopback_host(host):
            assert name.lower() in ("localhost", "[::1]") or name.startswith("127.")


PAUSE = f"/api/triggers/{CLERK}/order/pause"
RESUME = f"/api/triggers/{CLERK}/order/resume"
FOREIGN_PAGE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://localhost:3000"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    {"Sec-Fetch-Site": "anything"},
]


class TestPages:
    """What a browser says of the page that sends a request. Real ones are in tests/browser."""

    @pytest.mark.parametrize("headers", FOREIGN_PAGE)
    def test_a_page_of_another_site_changes_nothing(
        self, tokenless: Running, headers: dict[str, str]
    ) -> None:
        for path in (PAUSE, f"/hooks/{CLERK}/order"):
            answer = tokenless.client.post(path, json={}, headers=HOOK_BEARER | headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong-origin"), path
        assert not is_paused(tokenless)

    @pytest.mark.parametrize(
        "kind",
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "json", ""],
    )
    def test_what_a_form_can_send_changes_nothing(self, tokenless: Running, kind: str) -> None:
        answer = tokenless.client.post(PAUSE, content=b"{}", headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "not-json")
        assert not is_paused(tokenless)

    @pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", None])
    def test_its_own_page_and_a_program_do(self, tokenless: Running, kind: str | None) -> None:
        own = {"Origin": tokenless.url, "Sec-Fetch-Site": "same-origin"}
        typed = {"Content-Type": kind} if kind else {}
        assert tokenless.client.post(PAUSE, headers=own | typed).json()["changed"] is True
        assert tokenless.client.post(RESUME, headers=typed).json()["changed"] is True

    def test_a_link_may_be_followed(self, shared: Running) -> None:
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert shared.client.get("/", headers=link).status_code == 303
        assert shared.client.get("/", headers=link | {"Sec-Fetch-Dest": "iframe"}).status_code == 403


def is_paused(gateway: Running) -> bool:
    [order] = [each for each in gateway.client.get("/api/triggers").json() if each["trigger"] == "order"]
    return bool(order["paused"])


REPLAYED = b'{"amount": 100}'
NEW_IDS = [{}, {"X-Delivery-Id": "d-2"}, {"X-GitHub-Delivery": "d-2"}, {"Idempotency-Key": "d-2"}]


def webhook(gateway: Running, headers: dict[str, str], body: bytes = REPLAYED) -> dict[str, object]:
    typed = {"Content-Type": "application/json"} | headers
    answer = gateway.client.post(f"/hooks/{CLERK}/signed", content=body, headers=typed)
    assert answer.status_code in (200, 202), answer.text
    return dict(answer.json())


@contextmanager
def signing(house: House, scheme: str, **more: str) -> Iterator[Running]:
    binding = {"secret": "${ORDER_SECRET}", "signature": scheme, **more}
    house.bind({"triggers": {"signed": binding}, "model": "script/play.yaml"})
    with house.open() as gateway:
        yield gateway


class TestReplays:
    """A captured request, sent again with everything changed that no signature covers."""

    @pytest.mark.parametrize("scheme", ["github", "hmac-sha256"])
    def test_another_delivery_id_makes_no_second_run(self, house: House, scheme: Signature) -> None:
        with signing(house, scheme) as gateway:
            captured = sign(scheme, SECRET, REPLAYED, delivery_id="d-1")
            first = webhook(gateway, captured)
            unsigned = {name: value for name, value in captured.items() if "Signature" in name}
            for headers in (captured, *(unsigned | each for each in NEW_IDS)):
                assert webhook(gateway, headers) == first | {"duplicate": True}
            assert len(gateway.get("/api/runs").json()) == 1
            later = sign(scheme, SECRET, b'{"amount": 7}', delivery_id="d-2")
            honest = webhook(gateway, later, b'{"amount": 7}')
            assert honest["duplicate"] is False, "a replay must not use up the id of what is to come"

    def test_a_signed_time_tells_equal_bodies_apart(self, house: House) -> None:
        with signing(house, "hmac-sha256") as gateway:
            now = int(time.time()) * 1000
            one = sign("hmac-sha256", SECRET, REPLAYED, now=now, delivery_id="d-1")
            retry = sign("hmac-sha256", SECRET, REPLAYED, now=now - 2000, delivery_id="d-1")
            two = sign("hmac-sha256", SECRET, REPLAYED, now=now - 3000, delivery_id="d-2")
            first = webhook(gateway, one)
            assert webhook(gateway, retry) == first | {"duplicate": True}
            assert webhook(gateway, retry | {"X-Delivery-Id": "d-9"}) == first | {"duplicate": True}
            assert webhook(gateway, two)["duplicate"] is False

    def test_the_id_of_standard_webhooks_is_signed(self, house: House) -> None:
        with signing(house, "standard-webhooks") as gateway:
            now = int(time.time()) * 1000
            first = webhook(gateway, sign("standard-webhooks", SECRET, REPLAYED, now=now, delivery_id="m-1"))
            retry = sign("standard-webhooks", SECRET, REPLAYED, now=now - 2000, delivery_id="m-1")
            other = sign("standard-webhooks", SECRET, REPLAYED, now=now, delivery_id="m-2")
            assert webhook(gateway, retry) == first | {"duplicate": True}
            assert webhook(gateway, other)["duplicate"] is False

    def test_equal_bodies_of_an_honest_sender(self, house: House) -> None:
        with signing(house, "github", equal_bodies="distinct") as gateway:
            ids = ("d-1", "d-2", "d-1")
            sent = [webhook(gateway, sign("github", SECRET, REPLAYED, delivery_id=each)) for each in ids]
            assert [each["duplicate"] for each in sent] == [False, False, True]

    def test_the_same_at_once_with_different_ids(self, house: House) -> None:
        with signing(house, "github") as gateway:
            captured = [sign("github", SECRET, REPLAYED, delivery_id=f"d-{n}") for n in range(20)]
            with ThreadPoolExecutor(20) as pool:
                answers = list(pool.map(lambda headers: webhook(gateway, headers), captured))
            assert sorted(each["duplicate"] for each in answers) == [False] + [True] * 19
            assert len({each["event_id"] for each in answers}) == 1

    @given(
        scheme=st.sampled_from(["github", "hmac-sha256"]),
        stamped=st.booleans(),
        ids=st.lists(st.text("abc-123", min_size=1, max_size=6), min_size=1, max_size=3),
        names=st.lists(
            st.sampled_from(["X-Delivery-Id", "Idempotency-Key", "X-GitHub-Delivery"]), min_size=1, max_size=3
        ),
    )
    @settings(max_examples=100)
    def test_no_unsigned_header_makes_it_another(
        self, scheme: Signature, stamped: bool, ids: list[str], names: list[str]
    ) -> None:
        now = 1_800_000_000_000 if stamped and scheme == "hmac-sha256" else None
        captured = sign(scheme, SECRET, REPLAYED, now=now, delivery_id="d-1")
        changed = captured | dict(zip(names, ids, strict=False))
        one, two = (
            verify(scheme, [SECRET], headers, REPLAYED, 1_800_000_000_000, 300_000).repeat_keys()
            for headers in (captured, changed)
        )
        assert one.signed == two.signed is not None


MANY = 1100


async def ask_often(house: House) -> None:
    """A home in which more questions wait than anybody reads at once, and as many dead letters lie."""
    database = SqliteDatabase(house.home.database_file, SystemClock())

    def work(tx: Tx) -> None:
        for number in range(MANY):
            arrival = Arrival(CLERK, "order", "test", "{}", "session", lane=None, process="work")
            run_id = str(accept(tx, arrival).run_id)
            ask = Ask(new_id(), "confirm", f"ledger.append_{number:04}", "{}", "digest")
            raise_asks(tx, get_run(tx, run_id), [ask])
            tx.update(runs, {"id": run_id}, status="done", outcome="dead_letter", ended_at=tx.now)

    try:
        await database.write(work)
    finally:
        await database.close()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> House:
    house = House(tmp_path_factory.mktemp("crowded") / "home").furnish()
    asyncio.run(ask_often(house))
    return house


class TestLongLists:
    """Somebody who asks without end must not push a question out of sight."""

    @pytest.mark.parametrize(
        ("path", "total"),
        [
            ("/api/approvals?limit=300", str(MANY)),
            ("/api/approvals?status=all&limit=1000", str(MANY)),
            ("/api/deadletters?limit=500", str(MANY)),
            ("/api/runs?limit=500&outcome=dead_letter", None),
        ],
    )
    def test_every_page_leads_to_the_next(self, crowded: House, path: str, total: str | None) -> None:
        seen: list[str] = []
        with crowded.open() as gateway:
            answer = gateway.get(path)
            while True:
                seen += [each["id"] for each in answer.json()]
                assert answer.headers.get("X-Total-Count") == total
                if "next" not in answer.links:
                    break
                answer = gateway.get(answer.links["next"]["url"])
        assert len(seen) == len(set(seen)) == MANY

    def test_the_status_counts_all_of_them(self, crowded: House) -> None:
        with crowded.open() as gateway:
            status = gateway.get("/api/status").json()
            unknown = gateway.get("/api/approvals?after=nothing-like-it")
        assert (status["approvals_total"], status["dead_letters_total"]) == (MANY, MANY)
        assert unknown.status_code == 404

    @pytest.mark.parametrize("noun", ["approval", "deadletter", "run", "event"])
    def test_a_command_says_that_there_is_more(self, crowded: House, noun: str) -> None:
        colleague = Colleague(crowded.root)
        seen: list[str] = []
        command = [noun, "list", "--limit", "600"]
        while True:
            said = colleague.ok(*command, "--json")
            seen += [each["id"] for each in said.json]
            if not said.err:
                break
            assert f"600 of {MANY:,} are shown" in said.err
            command = [*said.err.partition("colleague ")[2].partition(" (or")[0].split(), "--limit", "600"]
        assert len(seen) == len(set(seen)) == MANY
        assert "--after" in colleague.ok(noun, "list").err

    def test_so_do_status_and_doctor(self, crowded: House) -> None:
        colleague = Colleague(crowded.root)
        told = colleague.ok("status").out
        assert f"Waiting for you: {MANY}" in told
        assert f"and {MANY - 5} more (colleague approval list)" in told
        assert f"Dead letters: {MANY}" in told
        assert f"{MANY} dead letters wait" in colleague("doctor").out
