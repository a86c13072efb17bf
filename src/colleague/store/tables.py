"""The tables with their columns, as the migrations make them; those of the key come first."""

from __future__ import annotations

from colleague.store.sql import Expression, Table, and_, literal_column

events = Table(
    "events",
    "id expert trigger_name source payload run_id outcome reason warning received_at duplicates held",
)
dedupe = Table("dedupe", "expert trigger_name dedupe_key event_id expires_at")
lanes = Table("lanes", "lane next_seq")
runs = Table(
    "runs",
    "id event_id expert version digest process inputs session_key model lane status outcome error "
    "narrative outputs worker sla kind trouble transcript parent_run error_kind forked_from seq ready "
    "attempt dispatch epoch stalls lease_until working_ms retry_at created_at started_at ended_at dry_run "
    "sla_breached_at forked_step",
)
steps = Table("steps", "run_id number text status note attempt marked_at")
attempts = Table("attempts", "run_id number outcome error started_at ended_at")
messages = Table("messages", "run_id session position parent_call body attempt created_at")
calls = Table(
    "calls",
    "id run_id session tool_call_id operation server tool tier arguments digest status result note target "
    "parked_from changed_by taken_from position place repeatable sends is_error started_at ended_at",
)
sends = Table("sends", "call_id number epoch started_at ended_at")
approvals = Table(
    "approvals",
    "id run_id call_id kind expert operation arguments digest reasoning status on_timeout decided_by "
    "decision note answer parameters turn_run_id send requested_at expires_at decided_at parked",
)
grants = Table(
    "grants",
    "id expert operation run_id created_by server tool launch_digest schema_digest package_digest "
    "only_arguments approval_id lapsed created_at expires_at revoked_at uses",
)
accepted_launches = Table("accepted_launches", "digest server command accepted_by accepted_at")
timers = Table("timers", "kind subject run_id due_at")
outbox = Table(
    "outbox",
    "id run_id kind subject channel body status error read_by sends created_at sent_at retry_at",
)
triggers = Table("triggers", "expert trigger_name paused_by paused_at last_slot")
slots = Table("slots", "expert trigger_name slot event_id settled_at missed_from")
spend = Table(
    "spend",
    "expert day run_id input_tokens output_tokens tool_calls cache_read_tokens cache_write_tokens cost",
)
file_versions = Table("file_versions", "expert path version hash text run_id call_id written_at")
file_reads = Table("file_reads", "run_id call_id expert path hash first last size")
sessions = Table(
    "sessions",
    "key id agent_id label channel chat_type group_id origin spawned_by provider_override model_override "
    "auth_profile_override auth_profile_override_source thinking_level verbose_level reasoning_level "
    "send_policy queue_mode skills_snapshot system_prompt_report context_report spawn_depth input_tokens "
    "output_tokens compaction_count positions started_at created_at updated_at hidden",
)
archives = Table("archives", "id session_key ended_by started_at ended_at")
session_items = Table(
    "session_items",
    "session_key position transcript role text reasoning source attachments run_id event_id run_position "
    "created_at hidden",
)
reminders = Table(
    "reminders",
    "agent_id name session_key message kind schedule zone made_by created_at next_at",
)
canvases = Table("canvases", "id agent_id session_key version created_at updated_at")
canvas_versions = Table("canvas_versions", "canvas_id version title kind content run_id made_by created_at")
inbox = Table("inbox", "event_id session_key mode arrival due_at")
delegations = Table(
    "delegations",
    "call_id parent_run parent_session child_session child_event child_run status turn_run failure "
    "cleanup deferred timeout_ms looked_at looked_epoch looked_ms created_at ended_at",
)
compactions = Table(
    "compactions",
    "scope number run_id summary pinned cause seq position messages tokens_before tokens_after created_at",
)
auth_profiles = Table(
    "auth_profiles",
    "profile model reason failures last_used last_good last_failed cooldown_until error_count",
)
auth_orders = Table("auth_orders", "agent_id provider profiles")
model_requests = Table(
    "model_requests",
    "id run_id session model profile thinking outcome error turn input_tokens output_tokens took_ms "
    "ended_at cost",
)
commands = Table(
    "commands",
    "id session_key run_id call_id command mark started machine owner_started status pid owner_pid code "
    "started_at ended_at",
)
people = Table("people", "name role experts created_at removed_at")
links = Table("links", "hash purpose person approval_id created_at expires_at used_at")
browsers = Table("browsers", "hash person form_key agent created_at seen_at expires_at")
audit = Table("audit", "id who source address action subject expert run_id detail at")
file_pending = Table("file_pending", "expert path before version")


def sql_literal(text: str) -> Expression:
    """A constant inside the SQL: a partial index is only used when its condition stands there."""
    return literal_column(f"'{text}'")


def is_ready() -> Expression:
    """The condition of the index of runs that may start now."""
    return and_(runs.c.status == sql_literal("queued"), runs.c.ready == literal_column("1"))


def is_open() -> Expression:
    """The condition of the index of unfinished runs."""
    return runs.c.status != sql_literal("done")
