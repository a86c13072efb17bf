"""The tables of the office."""

TABLES = (
    "CREATE TABLE contacts (contact_id TEXT PRIMARY KEY, name TEXT, email TEXT, title TEXT, company TEXT,"
    " owner_email TEXT)",
    "CREATE TABLE deals (deal_id TEXT PRIMARY KEY, name TEXT, contact_id TEXT, owner_email TEXT, stage TEXT,"
    " amount REAL, currency TEXT, close_date TEXT, next_step TEXT, last_activity_at TEXT, competitors TEXT,"
    " stakeholders TEXT)",
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, contact_id TEXT, deal_id TEXT, note TEXT, created_at TEXT)",
    "CREATE TABLE mails (message_id TEXT PRIMARY KEY, thread_id TEXT, from_name TEXT, from_email TEXT,"
    " recipients TEXT, cc TEXT, subject TEXT, body TEXT, at TEXT, attachments TEXT, sent INTEGER)",
    "CREATE TABLE meetings (id INTEGER PRIMARY KEY, title TEXT, attendees TEXT, starts_at TEXT, ends_at TEXT,"
    " agenda TEXT)",
    "CREATE TABLE tickets (ticket_id TEXT PRIMARY KEY, status TEXT, customer_name TEXT, customer_email TEXT,"
    " subject TEXT, order_id TEXT, product TEXT, paid REAL, currency TEXT, delivered_at TEXT,"
    " created_at TEXT, resolution TEXT, closed_at TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, ticket_id TEXT, author TEXT, text TEXT, at TEXT)",
    "CREATE TABLE refunds (id INTEGER PRIMARY KEY, ticket_id TEXT, amount REAL, currency TEXT, reason TEXT,"
    " created_at TEXT)",
    "CREATE TABLE ledger (id INTEGER PRIMARY KEY, time TEXT NOT NULL, operation TEXT NOT NULL,"
    " arguments TEXT NOT NULL, idempotency_key TEXT, result TEXT NOT NULL)",
    "CREATE TABLE failures (operation TEXT PRIMARY KEY, count INTEGER NOT NULL)",
)
