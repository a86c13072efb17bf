"""Packages that deliver to a channel which does not exist, or which is not for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Colleague
from tests.integration.experts.package import CLERK, Package, process
from tests.integration.gateway.harness import House

MADE_UP = ["pigeon", "learnings", "Main", "main ", "../main"]


def clerk(channel: str) -> Package:
    return Package(files={"processes/work.md": process(steps=(), delivery={"channel": channel})})


@pytest.fixture
def house(tmp_path: Path) -> House:
    house = House(tmp_path / "home")
    house.root.mkdir()
    house.configure()
    house.play({"text": "It is done."})
    return house


@pytest.mark.parametrize("channel", MADE_UP)
def test_a_channel_that_a_package_made_up_is_an_error(house: House, tmp_path: Path, channel: str) -> None:
    colleague = Colleague(house.root)
    folder = clerk(channel).write(tmp_path / "source")
    said = colleague("expert", "validate", str(folder), "--offline")
    assert (said.code, "delivery-channel-unknown" in said.out + said.err) == (1, True)
    assert colleague("expert", "install", str(folder)).code == 1
    assert not (house.root / "experts" / CLERK).exists()


@pytest.mark.parametrize("channel", ["pigeon", "learnings", "slack"])
def test_what_is_not_delivered_is_never_called_delivered(house: House, tmp_path: Path, channel: str) -> None:
    """A linked package that was changed after its install, and a channel that is known but not connected."""
    colleague = Colleague(house.root)
    folder = clerk("main").write(tmp_path / "source")
    colleague.ok("expert", "install", "--link", str(folder), "--name", CLERK)
    clerk(channel).write(folder)
    colleague("expert", "update", CLERK, "--yes")  # another channel counts after a person accepted it
    said = colleague("expert", "run", CLERK, "--process", "work", "--model", "script/play.yaml", "--json")
    if channel != "slack":
        assert said.code != 0
        assert "channel" in said.out + said.err
        return
    run = said.json
    assert (run["outcome"], run["delivery"]["status"], run["delivery"]["at"]) == ("completed", "failed", None)
    assert "not connected" in run["delivery"]["error"]
    status = colleague.ok("status", "--json").json
    assert (status["undelivered"], status["delivered"]) == (1, [])
    assert "Not delivered yet: 1" in colleague.ok("status").out
