"""Webhooks over a real server: who may send, what is accepted, what is answered."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colleague.experts.registry import set_enabled
from colleague.triggers.signature import sign
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import HOOK_BEARER, SECRET, House, Running, package


def signed(body: bytes, secret: str = SECRET, **more: object) -> dict[str, str]:
    return sign("hmac-sha256", secret, body, **more) | {"Content-Type": "application/json"}  # type: ignore[arg-type]


class TestAcceptance:
    def test_an_event_is_accepted_and_runs(self, gateway: Running) -> None:
        answer = gateway.hook(f"{CLERK}/order", {"id": "o-1"})
        assert answer.status_code == 202
        told = answer.json()
        assert told["duplicate"] is False
        run = gateway.ended(told["run_id"])
        assert (run["outcome"], run["narrative"], run["inputs"]) == (
            "completed",
            "It is done.",
            {"id": "o-1"},
        )
        event = gateway.get(f"/api/events/{told['event_id'][-8:]}").json()
        assert event["run"]["id"] == told["run_id"]
        assert event["outcome"] == "completed"
        assert gateway.until(
            lambda: (
                gateway.get(f"/api/events/{told['event_id']}").json()["delivery"]["error"]
                == "main has no reader yet"
            )
        )

    def test_a_repeat_is_answered_with_the_same_ids(self, gateway: Running) -> None:
        first = gateway.hook(f"{CLERK}/order", {"id": "o-2"}).json()
        again = gateway.hook(f"{CLERK}/order", {"id": "o-2", "note": "once more"})
        assert again.status_code == 200
        assert again.json() == first | {"duplicate": True, "warning": again.json()["warning"]}
        assert gateway.get(f"/api/events/{first['event_id']}").json()["accepted"]["duplicates"] == 1

    def test_a_delivery_id_tells_a_repeat(self, gateway: Running) -> None:
        one = gateway.hook(f"{CLERK}/by_customer", {"customer": "7"}, **{"X-Delivery-Id": "d-1"}).json()
        two = gateway.hook(f"{CLERK}/by_customer", {"customer": "7"}, **{"X-Delivery-Id": "d-1"}).json()
        three = gateway.hook(f"{CLERK}/by_customer", {"customer": "7"}, **{"X-Delivery-Id": "d-2"}).json()
        assert one["event_id"] == two["event_id"] != three["event_id"]

    def test_a_key_that_is_not_there_is_a_warning_people_can_see(self, gateway: Running) -> None:
        told = gateway.hook(f"{CLERK}/by_customer", {"id": "o-3"}).json()
        assert "customer" in told["warning"]
        assert gateway.get(f"/api/events/{told['event_id']}").json()["warning"] == told["warning"]

    def test_a_body_that_is_no_json_by_its_type_is_kept(self, gateway: Running) -> None:
        answer = gateway.client.post(
            f"/hooks/{CLERK}/order", content="<a/>", headers=HOOK_BEARER | {"Content-Type": "text/xml"}
        )
        assert answer.status_code == 202
        run = gateway.ended(answer.json()["run_id"])
        assert run["inputs"] == {"payload": {"body": "<a/>"}}
        assert run["session_key"].startswith(f"agent:main:expert:{CLERK}:work:")

    @pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"NaN", b'{"a": 1e999}', b"[" * 100_000])
    def test_broken_json_is_refused(self, gateway: Running, body: bytes) -> None:
        headers = HOOK_BEARER | {"Content-Type": "application/json"}
        answer = gateway.client.post(f"/hooks/{CLERK}/order", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad-payload")

    def test_half_a_surrogate_pair_can_be_stored(self, gateway: Running) -> None:
        headers = HOOK_BEARER | {"Content-Type": "application/json"}
        answer = gateway.client.post(f"/hooks/{CLERK}/order", content=b'{"id": "\\ud800x"}', headers=headers)
        assert answer.status_code == 202

    def test_fifty_at_once(self, gateway: Running) -> None:
        def send(number: int) -> tuple[int, str]:
            answer = gateway.hook(f"{CLERK}/order", {"id": f"many-{number}"})
            return answer.status_code, answer.json()["run_id"]

        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(send, range(50)))
        assert {code for code, _ in answers} == {202}
        outcomes = {gateway.ended(run_id)["outcome"] for _, run_id in answers}
        assert outcomes == {"completed"}


class TestWhoMaySend:
    def test_nobody_without_the_token(self, gateway: Running) -> None:
        answer = gateway.client.post(f"/hooks/{CLERK}/order", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "header-missing")
        wrong = gateway.client.post(f"/hooks/{CLERK}/order", json={}, headers={"Authorization": "Bearer no"})
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "signature-wrong")

    def test_not_with_the_token_in_the_url(self, gateway: Running) -> None:
        token = HOOK_BEARER["Authorization"].split()[1]
        assert gateway.client.post(f"/hooks/{CLERK}/order?token={token}", json={}).status_code == 401
        assert gateway.client.post(f"/hooks/gmail?token={token}", json={}).status_code == 401

    def test_with_the_token_in_openclaws_header(self, gateway: Running) -> None:
        def send(hook: str, token: str) -> int:
            sent = gateway.client.post(
                f"/hooks/{hook}", json={"messages": [{"id": "oc"}]}, headers={"x-openclaw-token": token}
            )
            return sent.status_code

        token = HOOK_BEARER["Authorization"].split()[1]
        assert [send(f"{CLERK}/order", token), send("gmail", token)] == [202, 202]
        assert [send("gmail", "guess") for _ in range(12)] == [401] * 10 + [429] * 2
        assert send("gmail", token) == 200

    def test_a_signature_over_the_raw_bytes(self, gateway: Running) -> None:
        body = b'{"id":   "o-9"}'
        assert (
            gateway.client.post(f"/hooks/{CLERK}/signed", content=body, headers=signed(body)).status_code
            == 202
        )
        other = gateway.client.post(f"/hooks/{CLERK}/signed", content=body + b" ", headers=signed(body))
        assert other.status_code == 401

    def test_the_token_of_all_hooks_does_not_open_one_with_a_secret(self, gateway: Running) -> None:
        assert gateway.hook(f"{CLERK}/signed", {"id": "o"}).status_code == 401

    def test_a_signature_of_long_ago(self, gateway: Running) -> None:
        body = b"{}"
        headers = signed(body, now=1_700_000_000_000)
        answer = gateway.client.post(f"/hooks/{CLERK}/signed", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "too-old")

    def test_the_same_signed_bytes_are_one_event(self, gateway: Running) -> None:
        body = b'{"id": "twice"}'
        first, again = (
            gateway.client.post(f"/hooks/{CLERK}/signed", content=body, headers=signed(body))
            for _ in range(2)
        )
        assert (first.status_code, again.status_code) == (202, 200)

    def test_standard_webhooks_with_the_senders_own_library(self, house: House) -> None:
        from datetime import UTC, datetime

        from standardwebhooks import Webhook

        secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105
        old = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
        hook = {"secret": [old, "${STD_SECRET}"], "signature": "standard-webhooks"}
        house.environ["STD_SECRET"] = secret
        house.bind({"triggers": {"signed": hook}, "model": "script/play.yaml"})
        body, now = '{"id": "s-1"}', datetime.now(UTC)
        with house.open() as gateway:
            for each in (secret, old):
                headers = {
                    "webhook-id": f"msg-{each[-3:]}",
                    "webhook-timestamp": str(int(now.timestamp())),
                    "webhook-signature": Webhook(each).sign(f"msg-{each[-3:]}", now, body),
                }
                answer = gateway.client.post(f"/hooks/{CLERK}/signed", content=body, headers=headers)
                assert answer.status_code == 202, answer.text

    def test_a_secret_that_is_not_set_lets_nobody_in(self, house: House) -> None:
        del house.environ["ORDER_SECRET"]
        with house.open() as gateway:
            answer = gateway.client.post(f"/hooks/{CLERK}/signed", content=b"{}", headers=signed(b"{}"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "secret-unusable")
            assert "ORDER_SECRET" not in answer.text

    def test_no_secret_at_all_lets_nobody_in(self, house: House) -> None:
        house.configure(hooks={})
        with house.open() as gateway:
            answer = gateway.hook(f"{CLERK}/order", {"id": "o"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "no-secret")

    def test_the_gateways_token_is_no_secret_of_a_hook(self, house: House) -> None:
        house.bind({"triggers": {"signed": {"secret": "${GATEWAY_TOKEN}", "signature": "bearer"}}})
        with house.open() as gateway:
            assert gateway.post(f"/hooks/{CLERK}/signed", {}).status_code == 401

    def test_guessing_is_slowed_down_for_this_hook_alone(self, gateway: Running) -> None:
        wrong = {"Authorization": "Bearer guess"}
        codes = [
            gateway.client.post(f"/hooks/{CLERK}/order", json={}, headers=wrong).status_code
            for _ in range(12)
        ]
        assert codes == [401] * 10 + [429] * 2
        other = gateway.client.post(f"/hooks/{CLERK}/by_customer", json={}, headers=wrong)
        assert other.status_code == 401
        assert gateway.hook(f"{CLERK}/order", {"id": "o"}).status_code == 202


class TestWhatIsTurnedAway:
    def test_unknown_ones(self, gateway: Running) -> None:
        for path in ("nobody/order", f"{CLERK}/nothing", f"{CLERK}/nightly", f"{CLERK}/told"):
            answer = gateway.hook(path, {})
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-found"), path
            assert "hint" not in answer.json()["error"], "strangers are not told what else there is"

    def test_a_disabled_expert(self, house: House) -> None:
        triggers = [{"name": "order", "type": "webhook", "process": "work"}]
        house.install(package("idle", triggers), {}, enable=False)
        with house.open() as gateway:
            answer = gateway.hook("idle/order", {})
            assert answer.status_code == 409
            assert "disabled" in answer.json()["error"]["message"]

    def test_mail_that_no_expert_takes(self, house: House) -> None:
        set_enabled(house.home, CLERK, False)
        house.install(package("torn", [{"name": "post", "type": "webhook", "process": "work"}]), {})
        (house.home.expert("torn") / "expert.yaml").write_text("name: [")
        with house.open() as gateway:
            answer = gateway.hook("gmail", {"messages": [{"id": "m-1"}]})
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (409, "inactive")
            assert error["message"] == f"no expert takes mail: {CLERK} is disabled; torn cannot be read"

    def test_mail_that_not_every_expert_can_take_is_asked_for_again(self, house: House) -> None:
        post = [{"name": "post", "type": "webhook", "preset": "gmail", "process": "work"}]
        for name in ("torn", "off"):
            house.install(package(name, post), {}, enable=name == "torn")
        whole = (house.home.expert("torn") / "expert.yaml").read_text()
        for name in ("torn", "off"):
            (house.home.expert(name) / "expert.yaml").write_text("name: [")
        with house.open() as gateway:
            mail = {"messages": [{"id": "m-1"}]}
            answer = gateway.hook("gmail", mail)
            assert (answer.status_code, answer.json()["error"]["message"]) == (
                409,
                f"{CLERK} took this mail; torn cannot be read, and may take mail, too",
            )
            (house.home.expert("torn") / "expert.yaml").write_text(whole)
            assert gateway.until(lambda: gateway.hook("gmail", mail).status_code == 202)
            runs = gateway.get("/api/runs").json()
        assert sorted(run["expert"] for run in runs) == [CLERK, "torn"]

    def test_an_inactive_trigger_says_why(self, house: House) -> None:
        triggers = [{"name": "deal", "type": "webhook", "requires_tool": "crm", "process": "work"}]
        house.install(package("closer", triggers), {})
        with house.open() as gateway:
            answer = gateway.hook("closer/deal", {})
            assert answer.status_code == 409
            assert "'crm' is bound" in answer.json()["error"]["message"]

    def test_more_than_may_wait(self, house: House) -> None:
        house.play({"text": "slowly", "delay": 30})
        with house.open() as gateway:
            codes = [gateway.hook(f"{CLERK}/in_turn", {"id": str(n)}).status_code for n in range(6)]
            assert codes[:2] == [202, 202]
            assert codes[-1] == 429
            refused = gateway.hook(f"{CLERK}/in_turn", {"id": "last"})
            assert int(refused.headers["Retry-After"]) > 0
            assert refused.json()["error"]["code"] == "queue-full"
            runs = gateway.get("/api/runs").json()
            assert len(runs) == codes.count(202)

    def test_a_paused_trigger_holds(self, gateway: Running) -> None:
        paused = gateway.post(f"/api/triggers/{CLERK}/order/pause").json()
        assert paused == {"changed": True, "released": None}
        told = gateway.hook(f"{CLERK}/order", {"id": "held-1"})
        assert (told.status_code, told.json()["run_id"], told.json()["held"]) == (202, None, True)
        event = gateway.get(f"/api/events/{told.json()['event_id']}").json()
        assert (event["status"], event["run"]) == ("held", None)
        assert gateway.post(f"/api/triggers/{CLERK}/order/resume").json() == {"changed": True, "released": 1}
        event = gateway.get(f"/api/events/{told.json()['event_id']}").json()
        assert gateway.ended(event["run"]["id"])["outcome"] == "completed"


class TestGmail:
    def test_one_event_for_each_message_and_expert(self, house: House) -> None:
        triggers = [{"name": "post", "type": "webhook", "preset": "gmail", "process": "work"}]
        house.install(package("second", triggers), {"model": "script/play.yaml"})
        house.install(package("idle", triggers), {}, enable=False)
        messages = {"messages": [{"id": "m1", "from": "Ann <Ann@Acme.com>"}, {"id": "m2", "from": "b@c.de"}]}
        with house.open() as gateway:
            answer = gateway.hook("gmail", messages)
            events = answer.json()["events"]
            assert answer.status_code == 202
            assert sorted(each["expert"] for each in events) == [CLERK, CLERK, "second", "second"]
            again = gateway.hook("gmail", messages)
            assert again.status_code == 200
            assert [each["event_id"] for each in again.json()["events"]] == [
                each["event_id"] for each in events
            ]

    def test_the_hook_of_one_trigger_takes_messages_too(self, gateway: Running) -> None:
        two = {"messages": [{"id": "m1", "from": "a@b.c"}, {"id": "m2", "from": "a@b.c"}]}
        told = gateway.hook(f"{CLERK}/mail", two).json()
        assert told["event_id"] == told["events"][0]["event_id"]
        assert len(told["events"]) == 2

    @pytest.mark.parametrize("payload", [{}, [], {"messages": {}}, {"messages": [{}]}, {"message": {}}, None])
    def test_other_payloads(self, gateway: Running, payload: object) -> None:
        assert gateway.hook("gmail", payload).status_code == 400
        assert gateway.hook(f"{CLERK}/mail", payload).status_code == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_what_nobody_expected_is_an_error_of_the_same_shape(house: House) -> None:
    """A file where a folder must be: nothing is accepted, and the sender is told to come again in JSON."""
    with house.open() as gateway:
        shutil.rmtree(house.home.snapshots)
        house.home.snapshots.write_text("in the way")
        answer = gateway.hook(f"{CLERK}/order", {"id": "1"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
        house.home.snapshots.unlink()
        assert gateway.hook(f"{CLERK}/order", {"id": "1"}).status_code == 202


HEADER = st.text(
    st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60
).map(lambda text: text.strip(" "))


class TestAnything:
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        body=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()),
        kind=st.sampled_from(["application/json", "text/plain", "", "application/x-www-form-urlencoded"]),
        trigger=st.sampled_from(["order", "mail", "by_customer"]),
    )
    def test_any_body_is_accepted_or_refused(
        self, shared: Running, body: bytes, kind: str, trigger: str
    ) -> None:
        answer = shared.client.post(
            f"/hooks/{CLERK}/{trigger}", content=body, headers=HOOK_BEARER | {"Content-Type": kind}
        )
        assert answer.status_code in (200, 202, 400), answer.text

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.dictionaries(st.sampled_from(["X-Signature", "X-Timestamp", "Idempotency-Key"]), HEADER))
    def test_no_header_breaks_a_signed_hook(self, shared: Running, headers: dict[str, str]) -> None:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        answer = shared.client.post(f"/hooks/{CLERK}/signed", content=b"{}", headers=raw)
        assert answer.status_code in (400, 401, 429), answer.text
