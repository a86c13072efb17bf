"""The tables as SQLAlchemy knows them, read off the migrations' columns."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ColumnElement, Float, MetaData, Table, Text, and_, literal_column

metadata = MetaData()


def _table(name: str, *, text: str = "", number: str = "", real: str = "", key: str) -> Table:
    keys = key.split()
    columns: list[Column[object]] = [Column(each, Text, primary_key=each in keys) for each in text.split()]
    columns += [Column(each, BigInteger, primary_key=each in keys) for each in number.split()]
    columns += [Column(each, Float) for each in real.split()]
    return Table(name, metadata, *columns)


events = _table(
    "events",
    key="id",
    text="id expert trigger_name source payload run_id outcome reason warning",
    number="received_at duplicates held",
)
dedupe = _table(
    "dedupe",
    key="expert trigger_name dedupe_key",
    text="expert trigger_name dedupe_key event_id",
    number="expires_at",
)
lanes = _table("lanes", key="lane", text="lane", number="next_seq")
runs = _table(
    "runs",
    key="id",
    text="id event_id expert version digest process inputs session_key model lane status outcome error "
    "narrative outputs worker sla kind trouble transcript parent_run error_kind forked_from",
    number="seq ready attempt dispatch epoch stalls lease_until working_ms retry_at created_at started_at "
    "ended_at dry_run sla_breached_at forked_step",
)
steps = _table(
    "steps", key="run_id number", text="run_id text status note", number="number attempt marked_at"
)
attempts = _table(
    "attempts", key="run_id number", text="run_id outcome error", number="number started_at ended_at"
)
messages = _table(
    "messages",
    key="run_id session position",
    text="run_id session parent_call body",
    number="position attempt created_at",
)
calls = _table(
    "calls",
    key="id",
    text="id run_id session tool_call_id operation server tool tier arguments digest status result note "
    "target parked_from changed_by taken_from",
    number="position place repeatable sends is_error started_at ended_at",
)
sends = _table("sends", key="call_id number", text="call_id", number="number epoch started_at ended_at")
approvals = _table(
    "approvals",
    key="id",
    text="id run_id call_id kind expert operation arguments digest reasoning status on_timeout decided_by "
    "decision note answer parameters turn_run_id",
    number="send requested_at expires_at decided_at parked",
)
grants = _table(
    "grants",
    key="id",
    text="id expert operation run_id created_by server tool launch_digest schema_digest package_digest "
    "only_arguments approval_id lapsed",
    number="created_at expires_at revoked_at uses",
)
accepted_launches = _table(
    "accepted_launches", key="digest", text="digest server command accepted_by", number="accepted_at"
)
timers = _table("timers", key="kind subject", text="kind subject run_id", number="due_at")
outbox = _table(
    "outbox",
    key="id",
    text="id run_id kind subject channel body status error read_by",
    number="sends created_at sent_at retry_at",
)
triggers = _table(
    "triggers",
    key="expert trigger_name",
    text="expert trigger_name paused_by",
    number="paused_at last_slot",
)
slots = _table(
    "slots",
    key="expert trigger_name slot",
    text="expert trigger_name event_id",
    number="slot settled_at",
)
spend = _table(
    "spend",
    key="expert day run_id",
    text="expert day run_id",
    number="input_tokens output_tokens tool_calls cache_read_tokens cache_write_tokens",
    real="cost",
)
file_versions = _table(
    "file_versions",
    key="expert path version",
    text="expert path hash text run_id call_id",
    number="version written_at",
)
file_reads = _table(
    "file_reads",
    key="run_id call_id",
    text="run_id call_id expert path hash",
    number="first last size",
)
sessions = _table(
    "sessions",
    key="key",
    text="key id agent_id label channel chat_type group_id origin spawned_by provider_override "
    "model_override auth_profile_override auth_profile_override_source thinking_level verbose_level "
    "reasoning_level send_policy queue_mode skills_snapshot system_prompt_report context_report",
    number="spawn_depth input_tokens output_tokens compaction_count positions started_at created_at "
    "updated_at hidden",
)
archives = _table("archives", key="id", text="id session_key ended_by", number="started_at ended_at")
session_items = _table(
    "session_items",
    key="session_key position",
    text="session_key transcript role text reasoning source attachments run_id event_id",
    number="position run_position created_at hidden",
)
reminders = _table(
    "reminders",
    key="agent_id name",
    text="agent_id name session_key message kind schedule zone made_by",
    number="created_at next_at",
)
canvases = _table(
    "canvases", key="id", text="id agent_id session_key", number="version created_at updated_at"
)
canvas_versions = _table(
    "canvas_versions",
    key="canvas_id version",
    text="canvas_id title kind content run_id made_by",
    number="version created_at",
)
inbox = _table("inbox", key="event_id", text="event_id session_key mode arrival", number="due_at")
delegations = _table(
    "delegations",
    key="call_id",
    text="call_id parent_run parent_session child_session child_event child_run status turn_run failure "
    "cleanup",
    number="deferred timeout_ms looked_at looked_epoch looked_ms created_at ended_at",
)
compactions = _table(
    "compactions",
    key="scope number",
    text="scope run_id summary pinned cause",
    number="number seq position messages tokens_before tokens_after created_at",
)
auth_profiles = _table(
    "auth_profiles",
    key="profile model",
    text="profile model reason failures",
    number="last_used last_good last_failed cooldown_until error_count",
)
auth_orders = _table("auth_orders", key="agent_id provider", text="agent_id provider profiles")
model_requests = _table(
    "model_requests",
    key="id",
    text="id run_id session model profile thinking outcome error",
    number="turn input_tokens output_tokens took_ms ended_at",
    real="cost",
)
commands = _table(
    "commands",
    key="id",
    text="id session_key run_id call_id command mark started machine owner_started status",
    number="pid owner_pid code started_at ended_at",
)
people = _table("people", key="name", text="name role experts", number="created_at removed_at")
links = _table(
    "links",
    key="hash",
    text="hash purpose person approval_id",
    number="created_at expires_at used_at",
)
browsers = _table(
    "browsers",
    key="hash",
    text="hash person form_key agent",
    number="created_at seen_at expires_at",
)
audit = _table(
    "audit",
    key="id",
    text="id who source address action subject expert run_id detail",
    number="at",
)
file_pending = _table("file_pending", key="expert path", text="expert path before", number="version")


def sql_literal(text: str) -> ColumnElement[str]:
    """A constant inside the SQL: a partial index is only used when its condition stands there."""
    return literal_column(f"'{text}'", Text)


def is_ready() -> ColumnElement[bool]:
    """The condition of the index of runs that may start now."""
    return and_(runs.c.status == sql_literal("queued"), runs.c.ready == literal_column("1"))


def is_open() -> ColumnElement[bool]:
    """The condition of the index of unfinished runs."""
    return runs.c.status != sql_literal("done")
