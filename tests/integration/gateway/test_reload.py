"""Changes while it runs: experts, settings, servers."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from colleague.clock import MovableClock, SystemClock
from colleague.config import load_settings
from colleague.experts.registry import set_enabled
from colleague.gateway.restart_only import effective_settings
from colleague.mcp.servers import Servers
from colleague.runtime.cleanup import remove_old_scratch
from colleague.store.accept import Arrival, accept
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Tx
from colleague.store.versions import Author, FileKey, record_version
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import HOOK_BEARER, House, package

LEDGER = Path(__file__).parents[1] / "experts" / "ledger.py"


def server(book: Path) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", "-E", str(LEDGER), str(book)]}


def test_an_expert_comes_and_goes(house: House) -> None:
    triggers = [{"name": "order", "type": "webhook", "process": "work"}]
    with house.open() as gateway:
        assert gateway.hook("late/order", {}).status_code == 404
        house.install(package("late", triggers), {"model": "script/play.yaml"})
        assert gateway.until(lambda: gateway.hook("late/order", {}).status_code == 202)
        set_enabled(house.home, "late", False)
        assert gateway.until(lambda: gateway.hook("late/order", {}).status_code == 409)


def test_an_expert_that_is_broken_keeps_its_triggers(house: House) -> None:
    with house.open() as gateway:
        assert gateway.hook(f"{CLERK}/order", {"id": "before"}).status_code == 202
        manifest = house.home.expert(CLERK) / "expert.yaml"
        manifest.write_text("name: [")
        found = gateway.until(lambda: gateway.get("/api/status").json()["problems"])
        assert found[0].startswith(f"{CLERK}: ")
        assert gateway.hook(f"{CLERK}/order", {"id": "after"}).status_code == 202
        assert gateway.client.get("/readyz").status_code == 200


def test_an_expert_that_nobody_can_find_is_in_no_others_way(house: House, tmp_path: Path) -> None:
    """Its link says nothing of use when the gateway starts; mended, it is there without a start."""
    house.install(package("lent", [{"name": "order", "type": "webhook", "process": "work"}]), {})
    folder, package_folder = house.home.expert("lent"), tmp_path / "lent"
    shutil.move(folder, package_folder)
    folder.mkdir()
    shutil.move(package_folder / "bindings.yaml", folder)
    (folder / "link.json").write_text("{")
    with house.open() as gateway:
        assert gateway.hook(f"{CLERK}/order", {"id": "1"}).status_code == 202
        refused = gateway.hook("lent/order", {})
        assert (refused.status_code, refused.json()["error"]["message"]) == (409, "lent cannot be read")
        listed = {each["name"]: each["readable"] for each in gateway.get("/api/experts").json()}
        assert listed == {CLERK: True, "lent": False}
        (folder / "link.json").write_text(json.dumps({"path": str(package_folder)}))
        assert gateway.until(lambda: gateway.hook("lent/order", {}).status_code == 202)


def test_tokens_can_be_replaced_by_a_start(house: House) -> None:
    url, new = f"/hooks/{CLERK}/order", {"Authorization": "Bearer a-new-token"}
    with house.open() as gateway:
        house.environ |= {"NEW_TOKEN": "a-new-token"}
        house.configure(hooks={"token": "${NEW_TOKEN}"})
        [problem] = gateway.until(lambda: gateway.get("/api/status").json()["problems"])
        assert problem == "start the gateway again for hooks.token to count"
        assert gateway.client.post(url, json={"id": "0"}, headers=new).status_code == 401
    with house.open() as gateway:
        assert gateway.client.post(url, json={"id": "1"}, headers=new).status_code == 202
        assert gateway.client.post(url, json={"id": "2"}, headers=HOOK_BEARER).status_code == 401


def test_broken_settings_change_nothing_and_are_told(house: House) -> None:
    with house.open() as gateway:
        good = house.home.settings_file.read_text()
        house.home.settings_file.write_text("{ gateway: ")
        [problem] = gateway.until(lambda: gateway.get("/api/status").json()["problems"])
        assert "settings stay as they were" in problem
        assert gateway.hook(f"{CLERK}/order", {"id": "o"}).status_code == 202
        assert "settings stay as they were" in (house.home.logs / "colleague.jsonl").read_text()
        house.home.settings_file.write_text(good)
        assert gateway.until(lambda: not gateway.get("/api/status").json()["problems"])


def test_settings_that_would_open_the_gateway_are_refused(house: House) -> None:
    with house.open() as gateway:
        house.environ["SAME"] = house.environ["GATEWAY_TOKEN"]
        house.configure(hooks={"token": "${SAME}"})
        [problem] = gateway.until(lambda: gateway.get("/api/status").json()["problems"])
        assert "the same" in problem
        assert gateway.hook(f"{CLERK}/order", {"id": "o"}).status_code == 202


def test_a_new_model_counts_for_new_runs(house: House) -> None:
    house.bind({})
    (house.root / "other.yaml").write_text(json.dumps({"replies": [{"text": "by the other"}]}))
    with house.open() as gateway:

        def said() -> str:
            told = gateway.post(f"/api/experts/{CLERK}/runs", {"task": "speak"})
            if told.status_code == 409:  # until there is a model
                return ""
            return str(gateway.ended(told.json()["run_id"])["narrative"])

        house.configure(agents={"defaults": {"model": {"primary": "script/other.yaml"}}})
        assert gateway.until(lambda: said() == "by the other")


def test_a_port_in_the_settings_needs_a_restart(house: House) -> None:
    with house.open() as gateway:
        house.configure(gateway=house.settings["gateway"] | {"port": 19999})
        [problem] = gateway.until(lambda: gateway.get("/api/status").json()["problems"])
        assert "start the gateway again for gateway.port" in problem


def test_a_new_place_to_send_refresh_tokens_to_needs_a_restart(house: House) -> None:
    plain = {"provider": "lab", "mode": "api_key", "key": "${WORK_KEY}"}
    refreshed = {"provider": "lab", "mode": "oauth", "refresh": "${SECRET}", "tokenUrl": "http://elsewhere"}
    house.configure(auth={"profiles": {"gone": plain, "same": refreshed}})
    before = load_settings(house.home)
    profiles = {"new": plain, "same": refreshed, "sends": refreshed}
    house.configure(auth={"profiles": profiles, "order": {"lab": ["new"]}})
    counts, changed = effective_settings(before, load_settings(house.home))
    assert changed == ["auth.profiles.sends"]
    assert set(counts.auth.profiles) == {"new", "same"}
    assert counts.auth.order["lab"] == ("new",)


def test_more_folders_to_search_need_a_restart(house: House) -> None:
    before = load_settings(house.home)
    house.configure(agents={"defaults": {"memorySearch": {"enabled": False, "extraPaths": ["/srv"]}}})
    counts, changed = effective_settings(before, load_settings(house.home))
    assert "agents.defaults.memorySearch.extraPaths" in changed
    assert counts.agents.defaults.memory_search.extra_paths == ()
    assert counts.agents.defaults.memory_search.enabled is False


class TestServers:
    def settings(self, house: House, **servers: Any) -> Any:
        house.configure(mcp={"servers": servers})
        return load_settings(house.home)

    def test_unchanged_ones_run_on_and_others_follow(self, house: House) -> None:
        one, two = server(house.root / "one.txt"), server(house.root / "two.txt")

        async def story() -> None:
            first = self.settings(house, kept=one, changed=one, gone=one)
            async with Servers.of(house.home, first, dict(house.environ)) as servers:
                for name in ("kept", "changed", "gone"):
                    await servers.call(name, "append", {"line": name}, key=name)
                pids = {each.name: each.pid for each in await servers.status()}
                servers.reconfigure(self.settings(house, kept=one, changed=two, added=two))
                await servers.call("changed", "append", {"line": "elsewhere"}, key="a")
                await servers.call("added", "append", {"line": "added"}, key="b")
                found = {each.name: each for each in await servers.status()}
                assert set(found) == {"kept", "changed", "added"}
                assert found["kept"].pid == pids["kept"]
                assert found["changed"].pid != pids["changed"]
            assert (house.root / "two.txt").read_text() == "elsewhere\nadded\n"

        asyncio.run(story())

    def test_a_call_under_way_ends_before_its_server_goes(self, house: House) -> None:
        one = server(house.root / "one.txt")

        async def story() -> None:
            async with Servers.of(house.home, self.settings(house, gone=one), dict(house.environ)) as servers:
                await servers.tools("gone")
                calling = asyncio.create_task(servers.call("gone", "append", {"line": "slow ~3"}, key="a"))
                while not (house.root / "one.txt").exists():
                    await asyncio.sleep(0.02)
                servers.reconfigure(self.settings(house))
                assert [each.name for each in await servers.status()] == ["gone"]
                assert (await calling).text == "written: slow ~3"
                assert await servers.status() == []

        asyncio.run(story())


def test_old_working_files_are_removed_and_needed_ones_stay(house: House) -> None:
    scratch = house.root / "workspace" / "expert-state" / CLERK / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    for name in ("old.md", "wanted.md"):
        (scratch / name).write_text("old")

    def want(tx: Tx) -> None:
        """A run that waits, say for a yes, and has written a file."""
        accepted = accept(tx, Arrival(CLERK, "order", "test", "{}", "session", lane=None, process="work"))
        record_version(tx, FileKey(CLERK, "scratch/wanted.md"), b"old", Author(accepted.run_id))

    async def later(days: float, *, first: Callable[[Tx], None] | None = None) -> list[str]:
        clock = MovableClock(SystemClock().now())
        clock.move(days=days)
        database = SqliteDatabase(house.home.database_file, clock)
        try:
            if first:
                await database.write(first)
            return await remove_old_scratch(house.home, database, load_settings(house.home), clock)
        finally:
            await database.close()

    assert asyncio.run(later(6, first=want)) == []
    assert asyncio.run(later(8)) == ["scratch/old.md"]
    assert [path.name for path in scratch.iterdir()] == ["wanted.md"]


def test_relaying_what_is_for_main_begins_without_a_restart(house: House) -> None:
    (house.root / "talk.yaml").write_text('{"replies": [{"text": "Ann, the clerk is done."}]}')
    house.configure(agents={"defaults": {"model": {"primary": "script/talk.yaml"}}})
    with house.open() as gateway:
        house.configure(experts={"mainTurn": "relay"})
        numbers = itertools.count()

        def relayed() -> bool:
            started = gateway.hook(f"{CLERK}/order", {"id": str(next(numbers))}).json()
            gateway.ended(started["run_id"])
            items = gateway.get("/api/sessions/agent:main:main/messages").json()
            return "Ann, the clerk is done." in [each["text"] for each in items]

        assert gateway.until(relayed)
