"""The sales expert in the demo office, with a real `colleague serve`: commands and HTTP, nothing else."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.conftest import SALES, Colleague, Said
from tests.forked import forked_command
from tests.office import SERVER, Office

ENVIRON = {"HOOK_TOKEN": "a-token-of-all-hooks", "GATEWAY_TOKEN": "a-token-of-the-gateway"}
MAILBOX = "sales@radiant.example"


def push(number: int | str, history: int, address: str = MAILBOX) -> dict[str, Any]:
    """As Google sends it."""
    data = json.dumps({"emailAddress": address, "historyId": history}).encode()
    message = {
        "data": base64.b64encode(data).decode(),
        "messageId": str(number),
        "message_id": str(number),
        "publishTime": "2026-11-16T08:00:00.000Z",
    }
    return {"message": message, "subscription": "projects/radiant/subscriptions/gmail"}


@dataclass
class ServedOffice:
    """A home, its office, and where the gateway listens while it runs."""

    colleague: Colleague
    office: Office
    url: str = ""
    started: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, colleague: Colleague, package: Path | None, *options: str) -> ServedOffice:
        """Set up as a person does it: settings, server, install, bind."""
        colleague.home.mkdir(parents=True)
        settings = {
            "hooks": {"token": "${HOOK_TOKEN}"},
            "gateway": {"auth": {"token": "${GATEWAY_TOKEN}"}},
        }
        file = colleague.home / "colleague.json"
        file.write_text(json.dumps(settings))
        file.chmod(0o600)
        office = Office.open(colleague, *options)
        office.employ(SALES, package)
        return cls(colleague, office)

    def type(self, *arguments: str) -> Said:
        return self.colleague.ok(*arguments, **ENVIRON)

    def play(self, *replies: dict[str, Any], expert: str = SALES) -> None:
        """What the model of this expert says, in each of its runs."""
        model = self.office.play(*replies, name=f"play-{expert}")
        with (self.colleague.expert(expert) / "bindings.yaml").open("a") as file:
            file.write(f"model: {model}\n")

    @contextmanager
    def serving(self) -> Iterator[None]:
        command = forked_command("-m", "colleague", "serve", "--port", "0")
        with subprocess.Popen(
            command,
            env=self.colleague.environment(ENVIRON),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as served:
            try:
                assert served.stdout is not None
                line = served.stdout.readline()
                assert line.startswith("Colleague listens on "), line
                self.started.append(line)
                self.url = line.split()[3].rstrip(";")
                yield
            finally:
                served.terminate()
                served.wait(120)

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {ENVIRON['GATEWAY_TOKEN']}"}
        return httpx2.get(self.url + path, headers=headers, timeout=120).json()

    def post(self, path: str, document: Any, **headers: str) -> httpx2.Response:
        given = headers or {"Authorization": f"Bearer {ENVIRON['HOOK_TOKEN']}"}
        return httpx2.post(self.url + path, json=document, headers=given, timeout=120)

    def receive(self, sender: str, subject: str = "Hello") -> dict[str, Any]:
        """A mail arrives; the push that tells of it."""
        options = ["--database", str(self.office.database), "--receive", sender, "--subject", subject]
        said = subprocess.run(
            forked_command(str(SERVER), *options), capture_output=True, text=True, check=True, timeout=60
        )
        pushed: dict[str, Any] = json.loads(said.stdout)
        return pushed

    def resolved(self, document: dict[str, Any]) -> dict[str, Any]:
        """The event of a push, once its mails are looked up."""
        [accepted] = self.post("/hooks/gmail", document).json()["events"]
        return self.until(lambda: self._ended(accepted["event_id"]))

    def _ended(self, event_id: str) -> dict[str, Any] | None:
        event: dict[str, Any] = self.get(f"/api/events/{event_id}")
        return event if event["outcome"] else None

    def run(self, status: str, **inputs: Any) -> dict[str, Any]:
        """The newest run that stands like this and has these inputs."""

        def look() -> dict[str, Any] | None:
            found = [self.get(f"/api/runs/{each['id']}") for each in self.get("/api/runs")]
            these = (each for each in found if inputs.items() <= each["inputs"].items())
            return next((each for each in these if each["status"] == status), None)

        return self.until(look)

    def until(self, look: Callable[[], Any], seconds: float = 240.0) -> Any:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(0.1)
        raise AssertionError("it never came")
