"""The text that statements become, for each of the two databases."""

from __future__ import annotations

import pytest

from colleague.store.sql import (
    Statement,
    Table,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    tuple_,
    union_all,
    update,
)

runs = Table("runs", "id lane seq status error")
calls = Table("calls", "id run_id status")

TEXTS: list[tuple[Statement, str]] = [
    (select(runs), "SELECT runs.id, runs.lane, runs.seq, runs.status, runs.error FROM runs"),
    (
        select(runs.c.id).where(runs.c.lane == "a", runs.c.seq > 1),
        "SELECT runs.id FROM runs WHERE (runs.lane = ?1 AND runs.seq > ?2)",
    ),
    (
        select(runs.c.id).where(runs.c.lane == None, runs.c.error != None),  # noqa: E711 - as a condition
        "SELECT runs.id FROM runs WHERE (runs.lane IS NULL AND runs.error IS NOT NULL)",
    ),
    (
        select(runs.c.id).where(or_(runs.c.id == "a", and_(runs.c.seq < 1, ~(runs.c.seq == 2)))),
        "SELECT runs.id FROM runs WHERE (runs.id = ?1 OR (runs.seq < ?2 AND NOT (runs.seq = ?3)))",
    ),
    (select(func.count()).where(runs.c.id == "a"), "SELECT count(*) FROM runs WHERE runs.id = ?1"),
    (
        select(runs.c.lane, func.count().label("open")).group_by(runs.c.lane).order_by(func.count().desc()),
        "SELECT runs.lane, count(*) AS open FROM runs GROUP BY runs.lane ORDER BY count(*) DESC",
    ),
    (
        select(runs.c.id).join(calls, calls.c.run_id == runs.c.id).where(calls.c.status == "unknown"),
        "SELECT runs.id FROM runs JOIN calls ON calls.run_id = runs.id WHERE calls.status = ?1",
    ),
    (
        select(runs.c.id, calls.c.id).select_from(runs.outerjoin(calls, calls.c.run_id == runs.c.id)),
        "SELECT runs.id, calls.id FROM runs LEFT JOIN calls ON calls.run_id = runs.id",
    ),
    (
        select(runs.c.id).where(~exists().where(calls.c.run_id == runs.c.id)),
        "SELECT runs.id FROM runs WHERE NOT (EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.id))",
    ),
    (
        delete(calls).where(calls.c.run_id.in_(select(runs.c.id).where(runs.c.seq < 3))),
        "DELETE FROM calls WHERE calls.run_id IN (SELECT runs.id FROM runs WHERE runs.seq < ?1)",
    ),
    (
        delete(runs).where(~exists().where(calls.c.run_id == runs.c.id)),
        "DELETE FROM runs WHERE NOT (EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.id))",
    ),
    (select(runs.c.id).where(runs.c.id.in_([])), "SELECT runs.id FROM runs WHERE 1 = 0"),
    (select(runs.c.id).where(runs.c.id.not_in([])), "SELECT runs.id FROM runs WHERE 1 = 1"),
    (select(runs.c.id).where(runs.c.id.in_("ab")), "SELECT runs.id FROM runs WHERE runs.id IN (?1, ?2)"),
    (
        select(runs.c.id).where(runs.c.id.startswith("50%")),
        "SELECT runs.id FROM runs WHERE runs.id LIKE ?1 ESCAPE '/'",
    ),
    (select(runs.c.id).limit(None), "SELECT runs.id FROM runs"),
    (select(runs.c.id).offset(2), "SELECT runs.id FROM runs LIMIT -1 OFFSET ?1"),
    (select(runs.c.id).distinct(), "SELECT DISTINCT runs.id FROM runs"),
    (
        select(case((runs.c.seq == 1, "a"), else_="b")),
        "SELECT CASE WHEN runs.seq = ?1 THEN ?2 ELSE ?3 END FROM runs",
    ),
    (
        select(runs.c.id).where(tuple_(runs.c.seq, runs.c.id) > tuple_(1, "a")),
        "SELECT runs.id FROM runs WHERE (runs.seq, runs.id) > (?1, ?2)",
    ),
    (
        union_all(select(select(runs.c.id).limit(1).subquery()), select(runs.c.id)).limit(1),
        "SELECT * FROM (SELECT runs.id FROM runs LIMIT ?1) AS subquery "
        "UNION ALL SELECT runs.id FROM runs LIMIT ?2",
    ),
    (
        insert(runs).values(id="a").on_conflict_do_nothing(),
        "INSERT INTO runs (id) VALUES (?1) ON CONFLICT DO NOTHING",
    ),
    (
        insert(runs)
        .values(id="a", seq=1)
        .on_conflict_do_update(
            index_elements=["id"],
            set_={"seq": runs.c.seq + insert(runs).excluded.seq},
            where=runs.c.seq < 5,
        )
        .returning(runs.c.seq),
        "INSERT INTO runs (id, seq) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE "
        "SET seq = (runs.seq + excluded.seq) WHERE runs.seq < ?3 RETURNING runs.seq",
    ),
    (
        update(runs).where(runs.c.id == "a").values(seq=runs.c.seq + 1, error=None),
        "UPDATE runs SET seq = (runs.seq + ?1), error = ?2 WHERE runs.id = ?3",
    ),
    (text("SELECT :one, :two, :one"), "SELECT ?1, ?2, ?1"),
    (select(literal_column("'50%'")).select_from(runs), "SELECT '50%' FROM runs"),
]


@pytest.mark.parametrize(
    ("statement", "expected"), TEXTS, ids=lambda each: each if isinstance(each, str) else ""
)
def test_sqlite(statement: Statement, expected: str) -> None:
    assert statement.rendered(postgresql=False).text == expected


def test_postgresql_has_named_places_locks_and_doubled_percent_signs() -> None:
    first = select(runs.c.id).where(runs.c.lane == bindparam("lane"), runs.c.error == literal_column("'50%'"))
    sql = first.with_for_update(of=runs, skip_locked=True).rendered(postgresql=True)
    assert sql.text == (
        "SELECT runs.id FROM runs WHERE (runs.lane = %(1)s AND runs.error = '50%%') "
        "FOR UPDATE OF runs SKIP LOCKED"
    )
    assert sql.given({"lane": "a"}) == {"1": "a"}
    assert "FOR UPDATE" not in first.with_for_update().rendered(postgresql=False).text
    assert select(runs.c.id).offset(2).rendered(postgresql=True).text.endswith("FROM runs OFFSET %(1)s")


def test_a_type_in_postgresql_is_no_parameter() -> None:
    assert text("SELECT :a::bigint").rendered(postgresql=True).text == "SELECT %(1)s::bigint"


def test_the_same_value_twice_has_one_place() -> None:
    """PostgreSQL takes a column for the one it is grouped by only when it is the same expression."""
    column = func.coalesce(runs.c.error, "")
    sql = select(column).group_by(column).rendered(postgresql=True)
    assert sql.text == "SELECT coalesce(runs.error, %(1)s) FROM runs GROUP BY coalesce(runs.error, %(1)s)"


def test_aliases_have_names_of_their_own() -> None:
    one, other = runs.alias(), runs.alias()
    query = select(one.c.id).where(~exists().where(other.c.lane == one.c.lane, other.c.seq > one.c.seq))
    assert query.rendered(postgresql=False).text == (
        "SELECT runs_1.id FROM runs AS runs_1 WHERE NOT (EXISTS (SELECT 1 FROM runs AS runs_2 "
        "WHERE (runs_2.lane = runs_1.lane AND runs_2.seq > runs_1.seq)))"
    )


def test_a_statement_that_is_built_once_keeps_its_text_and_takes_new_values() -> None:
    query = select(runs.c.id).where(runs.c.lane == bindparam("lane"), runs.c.seq == 3)
    sql = query.rendered(postgresql=False)
    assert query.rendered(postgresql=False) is sql
    assert query.limit(1).rendered(postgresql=False) is not sql
    assert [sql.given({"lane": lane}) for lane in "ab"] == [["a", 3], ["b", 3]]
    with pytest.raises(KeyError, match="lane"):
        sql.given({})


def test_a_condition_is_no_answer() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        assert runs.c.id == "a"


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="there is no column 'idd'"):
        _ = runs.c.idd
