"""What one caller can take: sizes, times, connections, tries, names."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import httpx2
import pytest

from colleague.errors import ColleagueError, ConfigError, HomeBusy, UsageError
from colleague.gateway.limits import Limits
from colleague.gateway.listening import Listening
from colleague.gateway.throttle import Throttle
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import BEARER, HOOK_TOKEN, TOKEN, House, Running

TIGHT = Limits(head_seconds=0.5, body_seconds=0.5, connections=20, drain_seconds=1.0)


@pytest.fixture
def tight(house: House) -> Iterator[Running]:
    with house.open(TIGHT) as running:
        yield running


def raw(gateway: Running, *parts: bytes, pause: float = 0.0) -> tuple[int, dict[str, object]]:
    """Sends bytes as they are; the status and the document of what comes back."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=120) as line:
        for part in parts:
            try:
                line.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        got = b""
        try:
            while chunk := line.recv(65536):
                got += chunk
                if b"\r\n\r\n" in got and got.endswith(b"}"):
                    break
        except ConnectionResetError:
            pass
    head, _, body = got.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def head(verb: str = "POST", path: str = f"/hooks/{CLERK}/order", **headers: str) -> bytes:
    lines = {"Host": "localhost", "Authorization": f"Bearer {HOOK_TOKEN}"} | headers
    told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"{verb} {path} HTTP/1.1\r\n{told}\r\n".encode()


class TestBodies:
    def test_too_large_by_what_it_says(self, house: House) -> None:
        house.configure(hooks={"token": "${HOOK_TOKEN}", "maxBodyBytes": 1000})
        with house.open() as gateway:
            assert gateway.hook(f"{CLERK}/order", {"id": "x" * 900}).status_code == 202
            answer = gateway.hook(f"{CLERK}/order", {"id": "x" * 2000})
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too-large")
            assert gateway.post(f"/api/experts/{CLERK}/runs", {"task": "x" * 2000}).status_code == 413

    def test_too_large_without_saying_so(self, gateway: Running) -> None:
        def chunks() -> Iterator[bytes]:
            for _ in range(40):
                yield b"x" * 65536

        headers = {"Authorization": f"Bearer {HOOK_TOKEN}"}
        with suppress(httpx2.NetworkError, httpx2.RemoteProtocolError):  # told no while still talking
            answer = gateway.client.post(f"/hooks/{CLERK}/order", content=chunks(), headers=headers)
            assert answer.status_code == 413
        assert gateway.get("/api/runs").json() == []
        assert gateway.client.get("/healthz").status_code == 200

    def test_chunks_beyond_the_limit_are_answered(self, house: House) -> None:
        house.configure(hooks={"token": "${HOOK_TOKEN}", "maxBodyBytes": 1000})
        with house.open() as gateway:
            chunk = b"400\r\n" + b"x" * 0x400 + b"\r\n"
            code, told = raw(gateway, head(Transfer_Encoding="chunked") + chunk)
            assert (code, told["error"]["code"]) == (413, "too-large")  # type: ignore[index]

    @pytest.mark.parametrize("length", ["-1", "1e3", "9" * 30, "0x10"])
    def test_lengths_that_are_none(self, gateway: Running, length: str) -> None:
        code, told = raw(gateway, head(Content_Length=length) + b"{}")
        assert code in (400, 413)
        assert "error" in told

    def test_one_that_never_comes(self, tight: Running) -> None:
        code, told = raw(tight, head(Content_Length="100") + b'{"id"')
        assert (code, told["error"]["code"]) == (408, "too-slow")  # type: ignore[index]


class TestHeads:
    def test_a_silent_connection_is_closed(self, tight: Running) -> None:
        assert raw(tight)[0] == 408

    def test_a_drip_is_closed(self, tight: Running) -> None:
        drips = [b"GET /healthz HTTP/1.1\r\n", *(f"X-{n}: 1\r\n".encode() for n in range(100))]
        code, _ = raw(tight, *drips, pause=0.1)
        assert code == 408

    def test_slow_callers_do_not_keep_others_out(self, tight: Running) -> None:
        lines = [socket.create_connection(("127.0.0.1", tight.port)) for _ in range(15)]
        try:
            assert tight.client.get("/healthz").status_code == 200
        finally:
            for line in lines:
                line.close()

    def test_too_many_connections(self, house: House) -> None:
        with house.open(replace(TIGHT, head_seconds=240)) as full:
            lines = [socket.create_connection(("127.0.0.1", full.port)) for _ in range(20)]
            try:
                code, told = raw(full, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert (code, told["error"]["code"]) == (503, "too-many-connections")  # type: ignore[index]
            finally:
                for line in lines:
                    line.close()
            assert full.until(lambda: full.client.get("/healthz").status_code == 200)

    @pytest.mark.parametrize(
        "lines",
        [
            "".join(f"X-{n}: 1\r\n" for n in range(200)),
            f"X-Long: {'x' * 40_000}\r\n",
            "".join(f"X-{n}: {'x' * 1000}\r\n" for n in range(90)),
            "X-Endless: " + "x" * 200_000,
        ],
        ids=["many", "long", "much", "endless"],
    )
    def test_header_bombs(self, gateway: Running, lines: str) -> None:
        code, told = raw(gateway, f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        assert (code, told["error"]["code"]) == (431, "headers-too-large")  # type: ignore[index]

    @pytest.mark.parametrize(
        "line", [b"\x16\x03\x01\x02\x00\x01", b"HELLO\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
    )
    def test_what_is_no_http(self, gateway: Running, line: bytes) -> None:
        code, told = raw(gateway, line)
        assert (code, told["error"]["code"]) == (400, "bad-request")  # type: ignore[index]

    def test_requests_one_after_another_on_one_line(self, tight: Running) -> None:
        with socket.create_connection(("127.0.0.1", tight.port), timeout=120) as line:
            for _ in range(3):
                line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got = b""
                while not got.endswith(b"}"):
                    got += line.recv(4096)
                assert b"200 OK" in got
                time.sleep(0.7)


class TestTokens:
    def test_everything_but_health_needs_it(self, gateway: Running) -> None:
        paths = ("/api/runs", "/metrics", "/api/status", "/api/nothing", "/nothing", "/api/runs/x/events")
        for path in paths:
            answer = gateway.client.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), path
            assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/healthz", "/readyz", "/openapi.json"):
            assert gateway.client.get(path).status_code == 200
        assert gateway.client.get("/").headers["location"].startswith("/login"), "the page wants a person"

    def test_a_broken_body_is_not_looked_at_before_it(self, gateway: Running) -> None:
        assert gateway.client.post(f"/api/experts/{CLERK}/runs", content=b"{").status_code == 401

    @pytest.mark.parametrize(
        "value", [TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "é"]
    )
    def test_others(self, gateway: Running, value: str) -> None:
        answer = gateway.client.get("/api/runs", headers=[(b"Authorization", value.encode("latin-1"))])
        assert answer.status_code == 401
        assert TOKEN not in answer.text

    def test_never_in_the_url_and_never_twice(self, gateway: Running) -> None:
        assert gateway.client.get(f"/api/runs?token={TOKEN}").status_code == 401
        assert gateway.client.get(f"/api/runs?access_token={TOKEN}").status_code == 401
        twice = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer x")]
        assert gateway.client.get("/api/runs", headers=twice).status_code == 401

    def test_guessing_is_slowed_down(self, gateway: Running) -> None:
        codes = [
            gateway.client.get("/api/runs", headers={"Authorization": f"Bearer {n}"}).status_code
            for n in range(12)
        ]
        assert codes == [401] * 10 + [429] * 2
        assert gateway.get("/api/runs").status_code == 200

    def test_no_token_is_in_the_log(self, gateway: Running) -> None:
        gateway.client.get("/api/runs", headers={"Authorization": "Bearer guessed-secret-1"})
        gateway.client.get("/api/runs?token=guessed-secret-2")
        gateway.hook(f"{CLERK}/signed", {}, Authorization="Bearer guessed-secret-3")
        logged = "".join(file.read_text() for file in gateway.home.logs.glob("*"))
        assert "guessed-secret" not in logged

    def test_problems_are_for_those_who_have_it(self, house: House) -> None:
        with house.open() as gateway:
            house.home.settings_file.write_text("{ broken")
            assert gateway.until(lambda: gateway.get("/readyz").json()["problems"])
            assert gateway.client.get("/readyz").json()["problems"] == []


class TestNames:
    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "["]
    )
    def test_a_name_that_is_not_ours(self, gateway: Running, host: str) -> None:
        code, told = raw(gateway, head("GET", "/api/runs", Host=host, Authorization=f"Bearer {TOKEN}"))
        assert (code, told["error"]["code"]) == (403, "wrong-host")  # type: ignore[index]

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:18790", "127.0.0.1:1", "[::1]:18790"])
    def test_ours(self, gateway: Running, host: str) -> None:
        assert gateway.client.get("/api/runs", headers=BEARER | {"Host": host}).status_code == 200

    def test_a_page_of_another_site(self, house: House) -> None:
        house.configure(gateway={"auth": {"mode": "none"}})
        with house.open() as gateway:
            own = {"Origin": gateway.url}
            assert gateway.client.post(f"/api/triggers/{CLERK}/order/pause", headers=own).status_code == 200
            for origin in ("https://evil.example", "null", f"{gateway.url}.evil.example"):
                path = f"/api/triggers/{CLERK}/order/pause"
                answer = gateway.client.post(path, headers={"Origin": origin})
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong-origin")


class TestStarting:
    def refused(self, house: House, bind: str | None = None) -> ColleagueError:
        with pytest.raises(ColleagueError) as caught, house.open(bind=bind):
            pass
        return caught.value

    def test_no_token(self, house: House) -> None:
        """For this machine alone the home has a token of its own; for others it has none."""
        house.configure(gateway={})
        assert "no token" in self.refused(house, "0.0.0.0").message  # noqa: S104
        with house.open() as gateway:
            file = house.home.state / "gateway.token"
            assert file.stat().st_mode & 0o777 == 0o600
            assert gateway.client.get("/api/runs").status_code == 401
            headers = {"Authorization": f"Bearer {file.read_text().strip()}"}
            assert gateway.client.get("/api/runs", headers=headers).status_code == 200

    def test_the_variable_is_not_set(self, house: House) -> None:
        del house.environ["GATEWAY_TOKEN"]
        assert isinstance(self.refused(house), ConfigError)

    def test_nobody_is_asked_and_everybody_can_come(self, house: House) -> None:
        house.configure(gateway={"auth": {"mode": "none"}})
        assert "other machines" in self.refused(house, "lan").message
        with house.open() as gateway:
            assert gateway.client.get("/api/runs").status_code == 200

    def test_one_token_for_both(self, house: House) -> None:
        house.environ["HOOK_TOKEN"] = TOKEN
        error = self.refused(house)
        assert "the same" in error.message
        assert TOKEN not in error.message + error.hint

    def test_a_second_one(self, house: House) -> None:
        with house.open() as gateway:
            error = self.refused(house)
            assert isinstance(error, HomeBusy)
            assert gateway.url in error.message
            assert json.loads((house.home.state / "gateway.json").read_text())["port"] == gateway.port
        assert not (house.home.state / "gateway.json").exists()

    def test_a_port_that_is_taken(self, house: House) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            listening = Listening("127.0.0.1", other.getsockname()[1])
            with pytest.raises(ColleagueError, match="cannot be listened on"):
                listening.open()

    def test_an_address_that_is_none(self, house: House) -> None:
        assert isinstance(self.refused(house, "nowhere"), UsageError)

    def test_beyond_loopback_any_name_will_do(self, house: House) -> None:
        with house.open(bind="0.0.0.0") as gateway:  # noqa: S104
            url = f"http://127.0.0.1:{gateway.port}/api/runs"
            answer = gateway.client.get(url, headers=BEARER | {"Host": "colleague.example"})
            assert answer.status_code == 200


class TestThrottle:
    def test_it_forgets_after_a_minute(self) -> None:
        now = [0.0]
        throttle = Throttle(3, lambda: now[0])
        for _ in range(3):
            assert throttle.failed("a") == 0
            now[0] += 10
        assert throttle.seconds_left("a") == 30
        assert throttle.seconds_left("b") == 0
        now[0] = 60
        assert throttle.failed("a") == 0
        assert throttle.failed("a") == 10

    def test_what_it_remembers_is_bounded(self) -> None:
        throttle = Throttle(3)
        for number in range(20_000):
            throttle.failed(number)
        assert len(throttle._failures) <= 10_000
