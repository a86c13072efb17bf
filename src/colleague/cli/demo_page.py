"""colleague demo with the page: a gateway, an expert at work, and mail that keeps coming until Ctrl-C."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colleague.cli.demo import EXPERT, SECRET, DemoHome
from colleague.cli.output import progress, say
from colleague.errors import ColleagueError
from colleague.home import HOME_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path

    from colleague.home import Home

PERSON = "you"
STOP_SECONDS = 30
PAUSE_SECONDS = 20
MOST_WAITING = 6
"""While so many questions wait, no further mail comes."""

MAILS = (
    (
        "Sarah Chen <sarah.chen@acme.example>",
        "Pricing for 40 seats",
        "Hi Tom,\n\nwe have a budget now. Could you send us a price for 40 seats, by the year?\n\nSarah",
    ),
    (
        "Marcus Webb <marcus@tidewater.example>",
        "The security review",
        "Tom,\n\nour security team wants the report of your last audit. Can you send it?\n\nMarcus",
    ),
    (
        "Jonas Lind <jonas.lind@fjordbank.example>",
        "A date for the pilot",
        "Hello,\n\nwe would like to begin the pilot on the first. Is that possible?\n\nJonas",
    ),
    (
        "Sarah Chen <sarah.chen@acme.example>",
        "And a question about support",
        "Hi Tom,\n\none more thing: is support at night part of the price?\n\nSarah",
    ),
    (
        "Elena Petrova <elena@brightwell.example>",
        "We have decided",
        "Dear all,\n\nthe board said yes. Please send the contract.\n\nElena",
    ),
    (
        "Hana Okafor <hana@pinecrest.example>",
        "Not this quarter",
        "Hi,\n\nour budget is frozen until spring. Could you write to me again in March?\n\nHana",
    ),
)


@dataclass(frozen=True)
class PageDemo(DemoHome):
    """The demo's home behind a gateway of its own."""

    port: int = 0

    def play(self) -> None:
        with progress("Setting up a home, an office and an expert"):
            self._prepare()
        gateway = self._start()
        with self._ending(gateway):
            with progress("Starting the gateway"):
                address = self._address(gateway)
            self._invite(address)
            self._keep_mail_coming(gateway)

    def _prepare(self) -> None:
        """In this process: commands of their own would take half a minute on a small machine."""
        from colleague.config import load_settings
        from colleague.experts.home_setup import set_up_home
        from colleague.experts.practice import PracticeSetup

        set_up_home(self._home)
        practice = PracticeSetup(self._home, load_settings(self._home).workspace)
        practice.install(self.model, self._package())
        practice.add_office("--fail", "get_deal=1")
        practice.bind(self.secret)

    @property
    def _home(self) -> Home:
        from colleague.home import Home

        return Home(self.root / "home")

    @property
    def _office(self) -> Path:
        return self._home.root / "practice-office.sqlite"

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "colleague", "serve", "--quiet", "--port", str(self.port)]
        # A group of its own: Ctrl-C reaches us alone, and we end it gently.
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=self._environ, start_new_session=True
        )

    @property
    def _environ(self) -> dict[str, str]:
        return os.environ | {HOME_VARIABLE: str(self.root / "home"), SECRET: self.secret}

    def _address(self, gateway: subprocess.Popen[str]) -> str:
        """With a link that signs in once, so that nobody types a token."""
        if gateway.stdout is None or not gateway.stdout.readline():
            raise ColleagueError("the gateway did not start", hint=f"see {self.root}/home/logs")
        found: dict[str, Any] = self._json("user", "add", PERSON, "--role", "admin", "--json")
        return str(found["address"])

    def _invite(self, address: str) -> None:
        import webbrowser

        say(f"\n  Colleague is at work. Open this once, it signs you in:\n\n  {address}\n")
        say("  Mail keeps coming to its practice office. Decide what it asks; Ctrl-C ends everything.")
        if has_desktop(os.environ):
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(address)

    def _keep_mail_coming(self, gateway: subprocess.Popen[str]) -> None:
        from colleague.experts.practice import receive_mail

        for mail in itertools.cycle(MAILS):
            while self._waiting() >= MOST_WAITING and gateway.poll() is None:
                time.sleep(1)
            if gateway.poll() is not None:
                raise ColleagueError(f"the gateway ended with {gateway.returncode}")
            self._tell(receive_mail(self._office, *mail))
            say(f"  A mail of {mail[0].partition(' <')[0]}: {mail[1]}")
            time.sleep(PAUSE_SECONDS)

    def _waiting(self) -> int:
        found = self._request("GET", "/api/approvals?limit=100", token=self._token)
        return sum(each["kind"] != "draft" for each in found)

    def _tell(self, payload: dict[str, Any]) -> None:
        self._request("POST", f"/hooks/{EXPERT}/new_email", token=self.secret, body=payload)

    @property
    def _token(self) -> str:
        from colleague.runtime.own_token import read_own_token

        return read_own_token(self._home)

    def _request(self, method: str, path: str, *, token: str, body: Any = None) -> Any:
        import urllib.request

        from colleague.runtime.gateway_file import read_gateway_file

        running = read_gateway_file(self._home)
        if running is None:
            raise ColleagueError("the gateway has ended")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(running.url + path, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - our own, on loopback
            return json.load(answer)

    @contextlib.contextmanager
    def _ending(self, gateway: subprocess.Popen[str]) -> Iterator[None]:
        """Ends the gateway gently, whatever happens in between. Ctrl-C is the way out, not an error."""
        try:
            with contextlib.suppress(KeyboardInterrupt):
                yield
        finally:
            say("\n  Ending ...")
            gateway.send_signal(signal.SIGTERM)
            try:
                gateway.wait(STOP_SECONDS)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                gateway.kill()
                gateway.wait()


def has_desktop(environ: dict[str, str] | os._Environ[str]) -> bool:
    return sys.platform == "darwin" or any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
