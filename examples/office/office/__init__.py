"""The demo office: mail, CRM, calendar and a ticket desk in one SQLite file, as an MCP server."""
