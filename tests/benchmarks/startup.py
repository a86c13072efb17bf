"""How long a quick command takes, beside a bare interpreter in the same run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = str(ROOT / "examples" / "radiant-sales-expert")
ROUNDS = 15


def seconds(arguments: list[str], home: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OPENCLAW_STATE_DIR": home},
    )
    return time.perf_counter() - started


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        colleague = ["-m", "colleague"]
        seconds([*colleague, "expert", "install", EXAMPLE], home)
        cases = {
            "python -c pass": ["-c", "pass"],
            "colleague --version": [*colleague, "--version"],
            "colleague expert list": [*colleague, "expert", "list"],
            "colleague expert validate --offline": [*colleague, "expert", "validate", "--offline", EXAMPLE],
        }
        medians = {
            name: statistics.median(seconds(arguments, home) for _ in range(ROUNDS))
            for name, arguments in cases.items()
        }
    baseline = medians["python -c pass"]
    print(f"{'command':40} {'median':>9} {'x bare python':>14}")
    for name, median in medians.items():
        print(f"{name:40} {median * 1000:6.0f} ms {median / baseline:13.1f}x")


if __name__ == "__main__":
    main()
