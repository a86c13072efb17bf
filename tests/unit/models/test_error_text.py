"""What a provider said, short, without secrets, and without taking long to find out."""

from __future__ import annotations

import time

import pytest

from colleague.agent.models.classify import BRIEF, failure_of
from colleague.agent.models.error_text import provider_text
from colleague.agent.models.resolved import Key, ResolvedModel

KEY = "kq7f-0123456789abcdef"
MODEL = ResolvedModel("local", "m1", "openai-completions", "http://x/v1", Key(KEY, "test"))


class Answered(Exception):
    """As the model library raises it."""

    status_code = 500

    def __init__(self, body: object) -> None:
        self.body = body


@pytest.mark.parametrize("before", [480, 490, 499, 500, 9_990, 9_999])
@pytest.mark.parametrize("fill", ["x", " ", "<b>"])
def test_no_part_of_a_key_is_left_where_a_text_is_cut(before: int, fill: str) -> None:
    padding = (fill * before)[:before] + " "
    for body in (f"{padding}{KEY} and more", {"error": {"message": f"{padding}{KEY}" + "y" * 1_000_000}}):
        failure = failure_of(MODEL, Answered(body))
        for text in (failure.message, failure.brief):
            assert KEY[:6] not in text
            assert len(text) < 700


@pytest.mark.parametrize("piece", ["<style", "<", "<script>", "</style>", "sk-", "try again in 1s "])
def test_a_megabyte_of_anything_is_read_quickly(piece: str) -> None:
    began = time.process_time()
    text = provider_text(Answered(piece * (1_000_000 // len(piece))))
    assert len(text) <= 503
    assert time.process_time() - began < 20


def test_the_brief_text_has_the_number_and_few_words() -> None:
    assert (
        failure_of(MODEL, Answered({"error": {"message": "Busy."}})).brief == "local/m1 answers 500 (Busy.)"
    )
    assert failure_of(MODEL, Answered("")).brief.startswith("local/m1 answers 500 (the provider")
    long = failure_of(MODEL, Answered("word " * 400)).brief
    assert len(long) < BRIEF + 40
