"""A stand-in for the command line of Docker: writes down what it is asked, and really runs the command.

Its folder is FAKE_DOCKER (beside DOCKER_HOST, by which the runtime tells it): `asked.jsonl`, and a file for
each container."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

FLAGS = {"--rm", "--init", "--interactive", "--tty", "--read-only", "--no-healthcheck"}


def main(arguments: list[str]) -> int:
    folder = Path(os.environ["DOCKER_HOST"].removeprefix("fake://"))
    with (folder / "asked.jsonl").open("a") as file:
        file.write(json.dumps({"arguments": arguments, "environment": dict(os.environ)}) + "\n")
    if (folder / "down").exists():
        print("Cannot connect to the Docker daemon. Is the docker daemon running?", file=sys.stderr)
        return 1
    match arguments[0]:
        case "run":
            return run(folder, arguments[1:])
        case "rm":
            remove(folder / f"{arguments[-1]}.container")
        case "ps":
            for each in folder.glob("*.container"):
                print(f"{each.stem}\t{json.loads(each.read_text())['owner']}")
        case "image" if (folder / "no-image").exists():
            return 1
    return 0


def run(folder: Path, arguments: list[str]) -> int:
    options: dict[str, list[str]] = {}
    while arguments[0].startswith("--"):
        name = arguments.pop(0)
        options.setdefault(name, []).append("" if name in FLAGS else arguments.pop(0))
    _, *rest = arguments
    work = dict(each.split("=", 1) for each in options["--mount"][0].split(",") if "=" in each)["src"]
    where = options["--workdir"][0].replace("/workspace", work, 1)
    lines = [line for each in options["--env-file"] for line in Path(each).read_text().splitlines()]
    variables = dict(line.split("=", 1) for line in lines)
    passed = {each: os.environ[each] for each in options.get("--env", [])}
    labels = dict(each.split("=", 1) for each in options["--label"])
    command = [options["--entrypoint"][0].replace("/workspace", work, 1), *rest]
    child = subprocess.Popen(
        command, cwd=where, env={**variables, **passed}, start_new_session=True
    )  # apart, as a daemon would
    container = folder / f"{options['--name'][0]}.container"
    container.write_text(json.dumps({"pid": child.pid, "owner": labels["colleague.owner"]}))
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    code = child.wait()
    container.unlink(missing_ok=True)
    return code


def remove(container: Path) -> None:
    with contextlib.suppress(OSError):
        os.killpg(json.loads(container.read_text())["pid"], signal.SIGKILL)
    container.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
