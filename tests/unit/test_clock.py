"""A clock that was moved is doubted for a while; time that really passed never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from colleague.clock import (
    DOUBT_MS,
    STEP_MS,
    CheckedClock,
    ClockDoubt,
    ClockRecord,
    boot_time_ms,
    wall_time_ms,
)
from colleague.clock_file import read_witness
from colleague.home import Home
from tests.watch import START, Watch

HALF_A_DOUBT = DOUBT_MS / 2000


class TestMoved:
    @pytest.mark.parametrize("days", [3, -3, 400])
    def test_for_six_seconds_it_never_happened(self, days: int) -> None:
        watch = Watch()
        clock = watch.clock()
        watch.moves(days=days)
        seen = []
        for _ in range(6):
            watch.passes(seconds=1)
            seen.append(clock.now())
        assert seen == [START + 1000 * second for second in range(1, 7)]
        assert "was moved" in clock.doubt()
        watch.moves(days=-days)
        watch.passes(seconds=1)
        assert clock.now() == START + 7000
        assert clock.doubt() == ""

    @pytest.mark.parametrize("days", [3, -3])
    def test_for_good_it_is_believed_after_the_doubt_and_not_before(self, days: int) -> None:
        watch = Watch()
        clock = watch.clock()
        watch.moves(days=days)
        clock.now()
        watch.passes(seconds=DOUBT_MS / 1000 - 1)
        assert clock.now() == START + DOUBT_MS - 1000
        watch.passes(seconds=1)
        assert clock.now() == watch.wall() == START + DOUBT_MS + days * 86_400_000
        assert clock.doubt() == ""

    def test_another_move_begins_another_doubt(self) -> None:
        watch = Watch()
        clock = watch.clock()
        for _ in range(5):
            watch.moves(days=1)
            clock.now()
            watch.passes(seconds=HALF_A_DOUBT + 1)
        assert clock.now() == START + 5 * (DOUBT_MS // 2 + 1000)

    def test_a_step_of_a_time_server_is_followed_at_once(self) -> None:
        watch = Watch()
        clock = watch.clock()
        for seconds in (2, -5, STEP_MS / 1000, -STEP_MS / 1000):
            watch.moves(seconds=seconds)
            assert clock.now() == watch.wall()
            assert clock.doubt() == ""

    def test_what_others_signed_is_compared_with_what_the_clock_shows(self) -> None:
        watch = Watch()
        clock = watch.clock()
        watch.moves(days=2)
        assert clock.wall() == START + 2 * 86_400_000
        assert clock.now() == START


class TestPassing:
    def test_a_suspended_machine_slept_for_real(self) -> None:
        watch = Watch()
        clock = watch.clock()
        watch.passes(days=12)
        assert clock.now() == watch.wall()

    def test_the_real_clocks_agree(self) -> None:
        before = wall_time_ms()
        assert before <= CheckedClock().now() <= before + STEP_MS
        assert boot_time_ms() > 0


class TestNextProcess:
    def test_goes_by_what_the_last_one_knew(self) -> None:
        watch = Watch()
        known = watch.clock().witness()
        watch.passes(days=2)
        watch.moves(days=40)
        clock = watch.clock()
        clock.recall(known)
        assert clock.now() == START + 2 * 86_400_000, "off for two days, and not for forty-two"

    def test_commands_that_live_for_a_second_do_not_begin_the_doubt_anew(self) -> None:
        watch = Watch()
        known = watch.clock().witness()
        watch.moves(days=40)
        for _ in range(12):
            clock = watch.clock()
            clock.recall(known)
            known = clock.witness()
            watch.passes(seconds=60)
        assert clock.now() == watch.wall()

    def test_a_second_look_at_what_is_known_does_not_begin_the_doubt_anew(self) -> None:
        watch = Watch()
        known = watch.clock().witness()
        watch.moves(days=40)
        clock = watch.clock()
        for _ in range(3):
            clock.recall(known)
            clock.now()
            watch.passes(seconds=HALF_A_DOUBT)
        assert clock.now() == watch.wall()

    @pytest.mark.parametrize("boot_id", ["another boot", ""])
    def test_after_a_boot_there_is_no_witness(self, boot_id: str) -> None:
        watch = Watch()
        known = ClockRecord(boot_id, watch.clock().witness().offset, ClockDoubt(5, 5))
        watch.moves(days=3)
        clock = watch.clock(boot_id="this boot" if boot_id else "")
        clock.recall(known)
        assert clock.now() == watch.wall()

    @pytest.mark.parametrize("text", ["", "{}", "[]", '{"boot_id": 1}', "\0", '{"doubt": 3}'])
    def test_a_file_that_says_nothing_is_no_witness(self, text: str, tmp_path: Path) -> None:
        home = Home(tmp_path)
        home.state.mkdir()
        home.clock_file.write_text(text)
        assert read_witness(home) is None
