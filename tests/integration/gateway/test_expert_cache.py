"""What was found out about an expert: nobody waits long for it, and whoever watches is told."""

from __future__ import annotations

import asyncio

import pytest

from colleague.errors import UsageError
from colleague.gateway.expert_cache import ExpertCache
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import House


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("cache") / "home").furnish()


@pytest.mark.parametrize("wrong", [False, True], ids=["an-answer", "an-error"])
def test_what_takes_long_is_told_when_it_is_there(house: House, wrong: bool) -> None:
    async def go() -> str:
        cache: ExpertCache[str] = ExpertCache()
        told, go_on = asyncio.Event(), asyncio.Event()
        cache.watchers.append(lambda name: told.set() if name == CLERK else None)

        async def find() -> str:
            await go_on.wait()
            if wrong:
                raise UsageError("it cannot be read")
            return "well"

        async with asyncio.timeout(120):
            assert await cache.get_soon(house.home, CLERK, None, find) is None
            assert not told.is_set()
            go_on.set()
            await told.wait()
            while (found := await cache.get_soon(house.home, CLERK, None, find)) is None:
                pass
            return found

    if not wrong:
        assert asyncio.run(go()) == "well"
        return
    with pytest.raises(UsageError, match="it cannot be read"):
        asyncio.run(go())


def test_an_error_is_kept_as_an_answer_is(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a page would ask for it again and again."""
    monkeypatch.setattr("colleague.file_cache.SETTLED_NS", 0)
    asked: list[str] = []

    async def find() -> str:
        asked.append("")
        raise UsageError("it cannot be read")

    async def go() -> None:
        cache: ExpertCache[str] = ExpertCache()
        for _ in range(3):
            with pytest.raises(UsageError, match="it cannot be read"):
                await cache.get(house.home, CLERK, None, find)

    asyncio.run(go())
    assert len(asked) == 1


def test_what_is_known_is_never_too_late(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that loads again because of an answer gets it, on a machine of any speed; all ask once."""
    monkeypatch.setattr("colleague.file_cache.SETTLED_NS", 0)
    monkeypatch.setattr("colleague.gateway.expert_cache.MOMENT", 0)
    asked: list[str] = []

    async def go() -> None:
        cache: ExpertCache[str] = ExpertCache()
        told, go_on = asyncio.Event(), asyncio.Event()
        cache.watchers.append(lambda _: told.set())

        async def find() -> str:
            asked.append("")
            await go_on.wait()
            return "well"

        pages = [cache.get_soon(house.home, CLERK, None, find) for _ in range(3)]
        assert await asyncio.gather(*pages) == [None] * 3
        go_on.set()
        async with asyncio.timeout(120):
            await told.wait()
        assert await cache.get_soon(house.home, CLERK, None, find) == "well"

    asyncio.run(go())
    assert len(asked) == 1
