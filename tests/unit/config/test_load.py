"""Loading the settings: what is read, what is refused and where, what is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from colleague.config import (
    Secret,
    Settings,
    load_settings,
    resolve,
)
from colleague.errors import ConfigError
from colleague.home import Home

CONTRACT = """\
{
  agents: {
    defaults: {
      workspace: "~/.openclaw/workspace",
      model: { primary: "anthropic/claude-sonnet-4-5", fallbacks: ["openai/gpt-5-mini"] },
      bootstrapMaxChars: 12000, bootstrapTotalMaxChars: 60000,
      thinking: { level: "medium", budget: { low: 2048, medium: 8192, high: 32768 } },
      subagents: { maxSpawnDepth: 1, maxChildrenPerAgent: 5 },
      timeoutSeconds: 600, maxConcurrent: 8,
    },
    list: [{ id: "main" }],
  },
  models: { providers: { local: {
    baseUrl: "http://127.0.0.1:8080/v1", apiKey: "${LOCAL_KEY}", api: "openai-completions",
    models: [{ id: "m1", contextWindow: 128000, maxTokens: 8192, cost: { input: 0, output: 0 } }],
  } } },
  tools: { profile: "coding", allow: [], deny: [], alsoAllow: ["message"], byProvider: {} },
  mcp: { servers: {
    "hubspot-mcp": { command: "npx", args: ["-y", "some-server"], env: { KEY: "${HUBSPOT_KEY}" } },
    "calendar-mcp": { url: "http://127.0.0.1:9000/mcp", transport: "streamable-http" },
    office: { command: "colleague-office", demo: true },   // rehearsals may act on it
  } },
  hooks: { token: "${HOOK_TOKEN}", maxBodyBytes: 1048576 },
  gateway: { port: 18790, bind: "loopback", auth: { mode: "token", token: "${GATEWAY_TOKEN}" } },
  session: { sendPolicy: { default: "allow", rules: [] } },
  experts: { database: null, dedupeWindow: "7d", retention: "30d", scratchRetention: "7d",
             maxConcurrentRuns: 32, timeoutClock: "working" },
}
"""

# The shape of a long-lived OpenClaw file: old and new spellings, and much that is not ours.
OPENCLAW = """\
{
  "$schema": "./schema.json",
  meta: { lastTouchedVersion: "2026.3.2", lastTouchedAt: "2026-03-02T10:00:00Z" },
  env: { vars: { GROQ_API_KEY: "gsk-literal" }, shellEnv: { enabled: true } },
  wizard: { lastRunMode: "local" },
  auth: { profiles: { "anthropic:me": { provider: "anthropic", mode: "oauth" } }, order: { anthropic: [] } },
  secrets: { providers: { default: { source: "env" } } },
  logging: { level: "info" }, diagnostics: {}, update: { channel: "stable" }, ui: { seamColor: "#ff0000" },
  browser: { enabled: true }, plugins: { entries: {} }, cron: { enabled: true }, bindings: [], memory: {},
  messages: { queue: { mode: "collect" }, responsePrefix: ">" }, commands: { native: "auto" }, talk: {},
  approvals: {}, web: {}, discovery: {}, broadcast: {}, nodeHost: {}, acp: {}, cli: {}, canvasHost: {},
  gateway: { mode: "local", port: 18789, bind: "tailnet", auth: { mode: "password", password: "p" } },
  hooks: { enabled: true, token: "shared", mappings: [{ match: { path: "gmail" } }] },
  agents: {
    ownership: "explicit",
    defaults: {
      workspace: "~/clawd", repoRoot: "~/code", skipBootstrap: false, userTimezone: "Europe/Berlin",
      model: "anthropic/claude-opus-4-6",
      imageModel: { primary: "openrouter/qwen/qwen-vl", fallbacks: [] },
      models: {
        "anthropic/claude-opus-4-6": { alias: "opus", params: { temperature: 0.2, apiKey: "literal-param" } },
        "openai/*": {},
      },
      thinkingDefault: "xhigh", verboseDefault: "off", elevatedDefault: "on", timeFormat: "24",
      blockStreamingDefault: "off", blockStreamingBreak: "text_end",
      blockStreamingChunk: { minChars: 800, maxChars: 1200, breakPreference: "paragraph" },
      blockStreamingCoalesce: { idleMs: 1000 }, humanDelay: { mode: "natural" },
      timeoutSeconds: 600, mediaMaxMb: 5, typingIntervalSeconds: 5, maxConcurrent: 3,
      heartbeat: { every: "30m", activeHours: { start: "08:00", end: "24:00" }, target: "last" },
      contextPruning: { mode: "cache-ttl", ttl: "1h30m", softTrim: {}, tools: { deny: ["x"] } },
      compaction: { mode: "safeguard", reserveTokensFloor: 20000, memoryFlush: { enabled: true } },
      memorySearch: { provider: "gemini", remote: { apiKey: "literal-memory" }, extraPaths: ["../docs"] },
      subagents: { model: { primary: "x/y" }, maxConcurrent: 8, archiveAfterMinutes: 60 },
      sandbox: {
        mode: "non-main", scope: "agent", perSession: true, workspaceAccess: "ro",
        docker: { image: "i", network: "none", env: { DB_PASSWORD: "literal-docker" } }, browser: {},
        prune: { idleHours: 24, maxAgeDays: 7 },
      },
    },
    list: [
      { id: "main", default: true, identity: { name: "Ada" }, groupChat: { mentionPatterns: [] } },
      {
        id: "work", name: "Work", workspace: "~/work", agentDir: "~/a", model: { primary: "a/b" },
        skills: ["docs"], subagents: { allowAgents: ["*"] }, sandbox: { mode: "off" },
        tools: { profile: "coding", allow: ["browser"], deny: ["canvas"], elevated: { enabled: true } },
      },
    ],
    entries: { main: { name: "hidden by list" }, family: { model: "a/c", tools: { allow: ["read"] } } },
  },
  models: {
    mode: "merge",
    providers: {
      proxy: {
        baseUrl: "http://localhost:4000/v1", apiKey: "literal-proxy", api: "openai-responses",
        authHeader: true, headers: { "X-Region": "us", "X-Number": 3 },
        models: [{
          id: "llama", name: "Llama", reasoning: false, input: ["text", "image"], contextWindow: 128000,
          maxTokens: 32000, cost: { input: 0, output: 0.5, cacheRead: 0, cacheWrite: 0 },
          compat: { supportsStore: false, maxTokensField: "max_tokens" },
        }],
      },
      minimax: {
        baseUrl: "https://api.example.com", api: "bedrock-converse-stream",
        apiKey: { source: "env", provider: "default", id: "MINIMAX_API_KEY" },
      },
      vault: { apiKey: { source: "file", provider: "filemain", id: "/providers/vault" } },
    },
  },
  tools: {
    profile: "full", deny: ["browser"], byProvider: { "openai/gpt-5": { profile: "minimal" } },
    exec: { timeoutSec: 900, backgroundMs: 10000, host: "gateway", applyPatch: { enabled: true } },
    elevated: { enabled: true, allowFrom: { slack: ["U1"] } }, media: { audio: { enabled: true } },
    web: { search: { provider: "brave", apiKey: "literal-brave", maxResults: 5 }, fetch: {} },
    agentToAgent: { enabled: true, allow: ["main", "work"] }, sessions: { visibility: "all" },
    sandbox: { tools: { alsoAllow: ["bundle-mcp"] } }, subagents: { tools: { deny: ["cron"] } },
    loopDetection: { enabled: true, historySize: 30, criticalThreshold: 20 },
  },
  mcp: {
    servers: {
      docs: { command: "uvx", args: ["mcp-server-fetch"], env: { KEY: "literal-env", PORT: 8080, ON: true } },
      remote: {
        url: "https://example.com/mcp", type: "sse", headers: { Authorization: "Bearer literal-header" },
        auth: "oauth", sslVerify: true, toolFilter: { include: ["search_*"] }, requestTimeoutMs: 20000.0,
      },
      off: { enabled: false },
      local: { command: "node", workingDirectory: "/srv" },
    },
  },
  session: {
    scope: "per-sender", dmScope: "per-channel-peer", identityLinks: { alice: ["telegram:1", "slack:U1"] },
    reset: { mode: "daily", atHour: 4, idleMinutes: 60 },
    resetByType: { dm: { mode: "idle", idleMinutes: 240 } },
    resetByChannel: { discord: { mode: "idle", idleMinutes: 30 } }, resetTriggers: ["/new"],
    store: "~/s.json", mainKey: "main", maintenance: { mode: "warn", pruneAfter: "30d" },
    sendPolicy: {
      default: "allow", rules: [{ action: "deny", match: { channel: "discord", chatType: "group" } }],
    },
    agentToAgent: { maxPingPongTurns: 2 }, threadBindings: { enabled: true },
  },
  skills: {
    allowBundled: ["gemini"], load: { extraDirs: ["~/skills"], watch: true }, install: { preferBrew: true },
    entries: { lab: { apiKey: "literal-skill", env: { LAB_KEY: "literal-lab" } }, sag: { enabled: false } },
  },
  channels: {
    defaults: { groupPolicy: "allowlist" },
    telegram: {
      enabled: true, botToken: "literal-telegram", allowFrom: ["tg:1"], historyLimit: 50, dmHistoryLimit: 30,
      accounts: { alerts: { botToken: { source: "env", provider: "default", id: "ALERTS_TOKEN" } } },
    },
    slack: { botToken: "${SLACK}", appToken: "literal-slack", streaming: "partial", channels: { C1: {} } },
    googlechat: { serviceAccount: { private_key: "literal-google", note: "literal-note" } },
  },
}
"""


def load(root: Path, ours: str | bytes | None = None, theirs: str | bytes | None = None) -> Settings:
    for name, text in (("colleague.json", ours), ("openclaw.json", theirs)):
        (root / name).unlink(missing_ok=True)
        if text is not None:
            (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings(Home(root))


def refusal(root: Path, ours: str, theirs: str | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(root, ours, theirs)
    assert caught.value.hint
    return caught.value


def warned(settings: Settings) -> list[tuple[str, int, int, str, str]]:
    return [(each.file.name, each.line, each.column, each.message, each.hint) for each in settings.warnings]


class TestWhatLoads:
    def test_no_files(self, tmp_path: Path) -> None:
        settings = load(tmp_path)
        assert settings.model_dump() == Settings().model_dump()
        assert settings.warnings == ()
        assert settings.workspace == tmp_path / "workspace"

    def test_no_home(self, tmp_path: Path) -> None:
        assert load_settings(Home(tmp_path / "none")).gateway.port == 18790

    def test_the_contracts_example(self, tmp_path: Path) -> None:
        settings = load(tmp_path, CONTRACT)
        assert settings.warnings == ()
        assert settings.agents.defaults.model
        assert settings.agents.defaults.model.fallbacks == ("openai/gpt-5-mini",)
        assert settings.agents.find("main")
        assert settings.tools.also_allow == ("message",)
        assert settings.mcp.servers["office"].demo
        assert [server.protocol for server in settings.mcp.servers.values()] == [
            "stdio",
            "streamable-http",
            "stdio",
        ]
        assert settings.models.providers["local"].models[0].context_window == 128_000
        assert settings.workspace == Path("~/.openclaw/workspace").expanduser()

    def test_the_contracts_example_shows_the_defaults(self, tmp_path: Path) -> None:
        defaults, example = Settings(), load(tmp_path, CONTRACT)
        assert example.experts == defaults.experts
        assert example.gateway.port == defaults.gateway.port
        assert example.hooks.max_body_bytes == defaults.hooks.max_body_bytes
        assert example.session == defaults.session
        for key in ("thinking", "subagents", "timeout_seconds", "max_concurrent", "bootstrap_max_chars"):
            assert getattr(example.agents.defaults, key) == getattr(defaults.agents.defaults, key)

    def test_of_openclaws_hooks_only_its_internal_ones_are_read(self, tmp_path: Path) -> None:
        entries = "{'bootstrap-extra-files': {paths: ['a/AGENTS.md']}, 'session-memory': {}}"
        theirs = f"{{hooks: {{token: 'theirs', internal: {{enabled: true, entries: {entries}}}}}}}"
        settings = load(tmp_path, theirs=theirs)
        assert warned(settings) == []
        assert settings.hooks.internal.extra_bootstrap_files == ("a/AGENTS.md",)
        assert settings.hooks.token is None
        ours = load(tmp_path, "{hooks: {internal: {enabled: false}}}", theirs)
        assert ours.hooks.internal.extra_bootstrap_files == ()

    def test_a_real_openclaw_file(self, tmp_path: Path) -> None:
        settings = load(tmp_path, theirs=OPENCLAW)
        assert warned(settings) == []
        agents = settings.agents
        assert agents.defaults.model
        assert agents.defaults.model.primary == "anthropic/claude-opus-4-6"
        assert agents.defaults.thinking_level == "high"
        assert agents.defaults.context_pruning.ttl.seconds == 5400
        assert {agent.id: agent.name for agent in agents.all} == {
            "main": None,
            "family": None,
            "work": "Work",
        }
        assert settings.tools.exec.timeout_seconds == 900
        assert settings.mcp.servers["remote"].protocol == "sse"
        assert settings.mcp.servers["remote"].request_timeout_ms == 20_000
        assert settings.mcp.servers["local"].cwd == "/srv"
        assert settings.session.reset_by_type.direct
        assert settings.session.reset_by_type.direct.idle_minutes == 240
        assert settings.channels["telegram"]["historyLimit"] == 50

    def test_openclaws_own_sections_are_not_read(self, tmp_path: Path) -> None:
        settings, defaults = load(tmp_path, theirs=OPENCLAW), Settings()
        assert settings.gateway == defaults.gateway
        assert settings.hooks == defaults.hooks

    def test_messages_and_auth_of_openclaw_are_read(self, tmp_path: Path) -> None:
        settings = load(tmp_path, theirs=OPENCLAW)
        assert settings.messages.queue.mode == "collect"
        assert settings.auth.profiles["anthropic:me"].provider == "anthropic"
        assert settings.warnings == ()
        ours = load(
            tmp_path, "{messages: {queue: {mode: 'interrupt'}}, auth: {order: {anthropic: ['a']}}}", OPENCLAW
        )
        assert ours.messages.queue.mode == "interrupt"
        assert ours.auth.order == {"anthropic": ("a",)}
        assert ours.auth.profiles.keys() == {"anthropic:me"}

    def test_openclaw_json_is_never_written(self, tmp_path: Path) -> None:
        load(tmp_path, CONTRACT, OPENCLAW)
        assert (tmp_path / "openclaw.json").read_text() == OPENCLAW
        assert sorted(each.name for each in tmp_path.iterdir()) == ["colleague.json", "openclaw.json"]

    def test_both_files_together(self, tmp_path: Path) -> None:
        assert load(tmp_path, CONTRACT, OPENCLAW).agents.defaults.timeout_seconds == 600


class TestOverlay:
    def test_ours_over_theirs(self, tmp_path: Path) -> None:
        settings = load(
            tmp_path,
            "{agents: {defaults: {timeoutSeconds: 5}, list: [{id: 'b'}]}, tools: {deny: []}}",
            "{agents: {defaults: {timeoutSeconds: 9, maxConcurrent: 2}, list: [{id: 'a'}]},"
            " tools: {deny: ['x'], allow: ['y']}}",
        )
        assert settings.agents.defaults.timeout_seconds == 5
        assert settings.agents.defaults.max_concurrent == 2
        assert [agent.id for agent in settings.agents.all] == ["b"]
        assert settings.tools.deny == ()
        assert settings.tools.allow == ("y",)

    def test_a_server_gets_demo_without_being_copied(self, tmp_path: Path) -> None:
        settings = load(
            tmp_path, "{mcp: {servers: {s: {demo: true}}}}", "{mcp: {servers: {s: {command: 'c'}}}}"
        )
        assert settings.mcp.servers["s"].command == "c"
        assert settings.mcp.servers["s"].demo

    def test_what_ours_replaces_in_theirs_need_not_be_right(self, tmp_path: Path) -> None:
        theirs = "{agents: {defaults: {timeoutSeconds: 'x'}}}"
        assert load(tmp_path, "{agents: {defaults: {timeoutSeconds: 5}}}", theirs)
        message = refusal(tmp_path, "{agents: {defaults: {maxConcurrent: 0}}}", theirs).message
        assert message.splitlines() == [
            f"{tmp_path}/colleague.json:1:37: agents.defaults.maxConcurrent is 0; it takes 1 or more",
            f'{tmp_path}/openclaw.json:1:38: agents.defaults.timeoutSeconds is "x"; it takes a whole number',
        ]

    def test_thinking_level(self, tmp_path: Path) -> None:
        theirs = "{agents: {defaults: {thinkingDefault: 'minimal'}}}"
        assert load(tmp_path, theirs=theirs).agents.defaults.thinking_level == "low"
        ours = "{agents: {defaults: {thinking: {level: 'off'}}}}"
        assert load(tmp_path, ours, theirs).agents.defaults.thinking_level == "off"
        assert load(tmp_path).agents.defaults.thinking_level == "medium"

    def test_includes(self, tmp_path: Path) -> None:
        (tmp_path / "agents.json5").write_text("{defaults: {timeoutSeconds: 5,\n maxTurns: 'x'}}")
        message = refusal(tmp_path, "{agents: {$include: './agents.json5'}}").message
        assert message == (
            f'{tmp_path}/agents.json5:2:12: agents.defaults.maxTurns is "x"; it takes a whole number'
        )
        settings = load(tmp_path, "{agents: {$include: './agents.json5', defaults: {maxTurns: 3}}}")
        assert (settings.agents.defaults.timeout_seconds, settings.agents.defaults.max_turns) == (5, 3)


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "at", "what"),
        [
            ("{gateway: {port: '80'}}", "1:18", 'gateway.port is "80"; it takes a whole number'),
            ("{gateway: {port: true}}", "1:18", "gateway.port is true; it takes a whole number"),
            ("{gateway: {port: 8.5}}", "1:18", "gateway.port is 8.5; it takes a whole number"),
            ("{gateway: {port: 70000}}", "1:18", "gateway.port is 70000; it takes 65535 or less"),
            ("{gateway: {port: NaN}}", "1:18", "gateway.port is NaN; it takes a whole number"),
            (
                "{experts: {maxConcurrentRuns: 9007199254740993}}",
                "1:31",
                "experts.maxConcurrentRuns is 9007199254740993; it takes 9007199254740992 or less",
            ),
            ("{gateway: {port: 0}}", "1:18", "gateway.port is 0; it takes 1 or more"),
            (
                "{gateway: {bind: 'x'}}",
                "1:18",
                'gateway.bind: it is "x"; it takes "loopback", "lan" or an IP address',
            ),
            (
                "{gateway: {auth: {token: ' '}}}",
                "1:26",
                "gateway.auth.token: it is empty; it takes a text such as ${NAME}",
            ),
            (
                "{gateway: {auth: {token: true}}}",
                "1:26",
                "gateway.auth.token: it takes a text such as ${NAME}",
            ),
            ("{gateway: []}", "1:11", "gateway is a list; it takes an object, { ... }"),
            (
                "{tools: {exec: {timeoutSec: 'x'}}}",
                "1:29",
                'tools.exec.timeoutSec is "x"; it takes a whole number',
            ),
            (
                "{agents: {defaults: {contextPruning: {toolResultHeadRatio: Infinity}}}}",
                "1:60",
                "agents.defaults.contextPruning.toolResultHeadRatio is Infinity;"
                " it takes a number, not NaN or Infinity",
            ),
            ("{tools: {allow: 'read'}}", "1:17", 'tools.allow is "read"; it takes a list, [ ... ]'),
            ("{tools: {allow: ['a',\n 3]}}", "2:2", "tools.allow[1] is 3; it takes a text in quotes"),
            (
                "{tools: {profile: 'codeing'}}",
                "1:19",
                'tools.profile is "codeing"; it takes "minimal", "coding", "messaging" or "full"',
            ),
            ("{agents: {list: [{name: 'x'}]}}", "1:18", "agents.list[0] needs the key id"),
            (
                "{agents: {list: [{id: 'x'}, {id: 'x'}]}}",
                "1:10",
                "agents: more than one agent has the id x",
            ),
            (
                "{agents: {defaults: {model: 3}}}",
                "1:29",
                'agents.defaults.model: it takes a model such as "provider/model", or { primary, fallbacks }',
            ),
            (
                "{experts: {retention: '7 weeks'}}",
                "1:23",
                "experts.retention: '7 weeks' is no duration;"
                " write a number and a unit, such as 30s, 5m, 2h or 1d",
            ),
            ("{experts: {retention: null}}", "1:23", "experts.retention is null; it takes a text in quotes"),
            (
                "{experts: {database: 'mysql://u:hunter2@h'}}",
                "1:22",
                "experts.database: it takes a URL that starts with postgresql://,"
                " or null for SQLite in the home",
            ),
            (
                "{mcp: {servers: {'my server': {}}}}",
                "1:31",
                'mcp.servers["my server"]: it has neither command nor url; give one, or set enabled to false',
            ),
            (
                "{mcp: {servers: {s: {command: 'c', url: 'u'}}}}",
                "1:21",
                "mcp.servers.s: it has both command and url; set the one that does not count to null",
            ),
            (
                "{session: {sendPolicy: {rules: [{match: {}}]}}}",
                "1:33",
                "session.sendPolicy.rules[0] needs the key action",
            ),
            ("{channels: {slack: true}}", "1:20", "channels.slack is true; it takes an object, { ... }"),
            (
                "{agents: {defaults: {workspace: 'a\\0b'}}}",
                "1:33",
                "agents.defaults.workspace: a path cannot hold a NUL character",
            ),
        ],
    )
    def test_what_where_and_what_would_be_right(self, tmp_path: Path, text: str, at: str, what: str) -> None:
        error = refusal(tmp_path, text)
        assert error.message == f"{tmp_path}/colleague.json:{at}: {what}"
        assert error.hint == "correct this, then try again"

    def test_everything_at_once_in_order(self, tmp_path: Path) -> None:
        text = "{\n hooks: {maxBodyBytes: 0},\n gateway: {port: 'x',\n  bind: 3},\n tools: 3,\n}"
        error = refusal(tmp_path, text)
        assert [line.split(": ")[0] for line in error.message.splitlines()] == [
            f"{tmp_path}/colleague.json:{at}" for at in ("2:24", "3:18", "4:9", "5:9")
        ]
        assert error.hint == "correct these, then try again"

    def test_a_line_each_whatever_the_keys(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, r"{channels: {'a\nb\x1b[0m': 3}, gateway: {bind: 'x\ny'}}")
        assert [line.split(": ", 1)[1] for line in error.message.splitlines()] == [
            r'channels["a\nb\u001b[0m"] is 3; it takes an object, { ... }',
            r'gateway.bind: it is "x\ny"; it takes "loopback", "lan" or an IP address',
        ]

    def test_very_many(self, tmp_path: Path) -> None:
        lines = refusal(tmp_path, f"{{tools: {{allow: {[1] * 300}}}}}").message.splitlines()
        assert len(lines) == 101
        assert lines[-1] == "and 200 more"

    @pytest.mark.parametrize("token", ["literal", "${TOKEN}"])
    def test_hook_token_must_differ_from_the_gateways(self, tmp_path: Path, token: str) -> None:
        text = f"{{gateway: {{auth: {{token: '{token}'}}}},\n hooks: {{token: '{token}'}}}}"
        message = refusal(tmp_path, text).message
        assert message == f"{tmp_path}/colleague.json:2:17: hooks.token is the same as gateway.auth.token"

    def test_two_different_tokens(self, tmp_path: Path) -> None:
        assert load(tmp_path, "{gateway: {auth: {token: 'a'}}, hooks: {token: 'b'}}")

    def test_a_server_can_change_sides(self, tmp_path: Path) -> None:
        settings = load(
            tmp_path,
            "{mcp: {servers: {s: {command: null, url: 'http://h/mcp'}}}}",
            "{mcp: {servers: {s: {command: 'c'}}}}",
        )
        assert settings.mcp.servers["s"].protocol == "streamable-http"

    def test_a_syntax_error(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "{a: 1 b: 2}").message
        assert message == f"{tmp_path}/colleague.json:1:7: 'b' where a comma or }} should be"


class TestWarnings:
    def test_unknown_key_at_the_top(self, tmp_path: Path) -> None:
        assert warned(load(tmp_path, "{\n  gatway: {},\n  zzz: 1,\n}")) == [
            ("colleague.json", 2, 3, "gatway is not a known key", "did you mean 'gateway'?"),
            ("colleague.json", 3, 3, "zzz is not a known key", "remove it"),
        ]
        assert warned(load(tmp_path, theirs="{agnts: {}, browsr: {}, qqq: 1}")) == [
            ("openclaw.json", 1, 2, "agnts is not a known key", "did you mean 'agents'?"),
            ("openclaw.json", 1, 13, "browsr is not a known key", "did you mean 'browser'?"),
            ("openclaw.json", 1, 25, "qqq is not a known key", "it is passed over"),
        ]

    def test_unknown_key_anywhere(self, tmp_path: Path) -> None:
        text = """{
          agents: {defaults: {model: {primry: 'x'}}, list: [{id: 'a', tols: {}}]},
          models: {providers: {p: {models: [{id: 'm', contextwindow: 3}], "base_url": 'u'}}},
          mcp: {servers: {s: {command: 'c', toolFilter: {includes: []}}}},
          session: {sendPolicy: {rules: [{action: 'deny', match: {chattype: 'dm'}}]}},
        }"""
        settings = load(tmp_path, text)
        assert [(line, message, hint) for _, line, _, message, hint in warned(settings)] == [
            (2, "agents.defaults.model.primry is not a known key", "did you mean 'primary'?"),
            (2, "agents.list[0].tols is not a known key", "did you mean 'tools'?"),
            (
                3,
                "models.providers.p.models[0].contextwindow is not a known key",
                "did you mean 'contextWindow'?",
            ),
            (3, "models.providers.p.base_url is not a known key", "did you mean 'baseUrl'?"),
            (4, "mcp.servers.s.toolFilter.includes is not a known key", "did you mean 'include'?"),
            (5, "session.sendPolicy.rules[0].match.chattype is not a known key", "did you mean 'chatType'?"),
        ]
        assert [warning.column for warning in settings.warnings[:2]] == [39, 71]
        assert settings.models.providers["p"].base_url is None

    def test_free_form_keys_are_not_judged(self, tmp_path: Path) -> None:
        text = "{channels: {x: {any: {thing: 1}}}, skills: {entries: {s: {config: {y: 2}}}}}"
        assert load(tmp_path, text).warnings == ()

    def test_openclaws_keys_have_no_effect_in_ours(self, tmp_path: Path) -> None:
        assert warned(load(tmp_path, "{browser: {}, tools: {media: {}}, gateway: {tls: {}}}")) == [
            ("colleague.json", 1, 2, "browser is a key of OpenClaw that has no effect here", "remove it"),
            (
                "colleague.json",
                1,
                23,
                "tools.media is a key of OpenClaw that has no effect here",
                "remove it",
            ),
            (
                "colleague.json",
                1,
                45,
                "gateway.tls is a key of OpenClaw that has no effect here",
                "remove it",
            ),
        ]

    def test_experts_belong_in_ours(self, tmp_path: Path) -> None:
        settings = load(tmp_path, theirs="{experts: {retention: '1d'}}")
        assert str(settings.experts.retention) == "30d"
        assert warned(settings) == [
            ("openclaw.json", 1, 2, "experts counts only in colleague.json", "move it there")
        ]

    def test_repeated_key(self, tmp_path: Path) -> None:
        settings = load(tmp_path, "{gateway: {port: 1, port: 2}}")
        assert settings.gateway.port == 2
        assert warned(settings)[0][:4] == (
            "colleague.json",
            1,
            21,
            "gateway.port is written twice; the last one counts",
        )

    def test_unknown_key_around_an_include(self, tmp_path: Path) -> None:
        (tmp_path / "more.json5").write_text("{\n  x: 1}")
        assert warned(load(tmp_path, "{zzz: {$include: 'more.json5'}, $include: 'more.json5'}")) == [
            ("more.json5", 2, 3, "x is not a known key", "remove it"),
            ("colleague.json", 1, 2, "zzz is not a known key", "remove it"),
        ]

    def test_very_many(self, tmp_path: Path) -> None:
        text = "{" + ",".join(f"k{number}: 1" for number in range(500)) + "}"
        settings = load(tmp_path, text)
        assert len(settings.warnings) == 100
        assert str(settings.warnings[-1]).endswith(": from here on, 401 more keys like these")

    def test_just_as_many_as_are_shown(self, tmp_path: Path) -> None:
        text = "{" + ",".join(f"k{number}: 1" for number in range(100)) + "}"
        settings = load(tmp_path, text)
        assert [warned(settings)[-1][3], len(settings.warnings)] == ["k99 is not a known key", 100]


class TestWorkspace:
    def test_paths(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/somebody")
        monkeypatch.setenv("PLACE", "/place")
        for text, expected in [
            ("~/w", Path("/somebody/w")),
            ("/w", Path("/w")),
            ("w/x", tmp_path / "w/x"),
            ("${PLACE}/w", Path("/place/w")),
        ]:
            settings = load(tmp_path, f"{{agents: {{defaults: {{workspace: '{text}'}}}}}}")
            assert settings.workspace == expected

    def test_unknown_user(self, tmp_path: Path) -> None:
        settings = load(tmp_path, "{agents: {defaults: {workspace: '~no-such-user/w'}}}")
        with pytest.raises(ConfigError, match=r"agents\.defaults\.workspace: there is no user"):
            _ = settings.workspace


class TestSecrets:
    def test_nothing_is_resolved_at_load(self, tmp_path: Path) -> None:
        settings = load(tmp_path, CONTRACT)
        assert settings.hooks.token == Secret("${HOOK_TOKEN}")
        assert settings.hooks.token.raw == "${HOOK_TOKEN}"

    def test_references_of_openclaw(self, tmp_path: Path) -> None:
        providers = load(tmp_path, theirs=OPENCLAW).models.providers
        in_env, in_file = providers["minimax"].api_key, providers["vault"].api_key
        assert in_env
        assert in_file
        assert resolve(in_env, {"MINIMAX_API_KEY": "k"}) == "k"
        with pytest.raises(ConfigError, match="OpenClaw's 'file' store"):
            resolve(in_file, {})

    def test_no_literal_is_ever_shown(self, tmp_path: Path) -> None:
        ours = """{
          hooks: {token: 'literal-hook'}, gateway: {auth: {token: 'literal-gateway'}},
          experts: {database: 'postgresql://u:literal-database@h/d'},
          auth: {profiles: {'p:x': {provider: 'p', key: 'literal-key', token: 'literal-token'}}},
          models: {providers: {q: {apiKey: '${A:-literal-fallback}', headers: {X: 'Bearer literal ${A}'}}}},
        }"""
        settings = load(tmp_path, ours, OPENCLAW)
        for shown in (
            repr(settings),
            str(settings),
            repr(settings.model_dump()),
            repr(settings.model_dump(by_alias=True, mode="json")),
            settings.model_dump_json(),
            f"{settings.hooks.token} {settings.hooks.token!r}",
        ):
            assert "literal" not in shown
            assert "**********" in shown

    def test_references_are_shown(self, tmp_path: Path) -> None:
        settings = load(tmp_path, CONTRACT)
        assert str(settings.hooks.token) == "${HOOK_TOKEN}"
        assert '"${HUBSPOT_KEY}"' in settings.model_dump_json()

    def test_they_are_still_there(self, tmp_path: Path) -> None:
        settings = load(tmp_path, theirs=OPENCLAW)
        assert settings.mcp.servers["docs"].env["PORT"].raw == "8080"
        assert settings.mcp.servers["docs"].env["ON"].raw == "true"
        assert settings.mcp.servers["remote"].headers["Authorization"].raw == "Bearer literal-header"
        assert settings.channels["telegram"]["botToken"] == Secret("literal-telegram")
        accounts: Any = settings.channels["telegram"]["accounts"]
        assert accounts["alerts"]["botToken"] == Secret("${ALERTS_TOKEN}")

    @pytest.mark.parametrize(
        "text",
        [
            "{hooks: {token: ['literal']}}",
            "{hooks: {token: {source: 'literal'}}}",
            "{auth: {order: {token: 'literal'}}}",
            "{experts: {database: 'literal'}}",
            "{channels: {slack: 'literal'}}",
            "{models: {providers: {p: 'literal'}}}",
            "{mcp: {servers: {s: {command: 'c', env: 'literal', headers: ['literal']}}}}",
        ],
    )
    def test_not_in_an_error(self, tmp_path: Path, text: str) -> None:
        error = refusal(tmp_path, text)
        assert "literal" not in error.message + error.hint
        assert error.__cause__ is None
        assert error.__context__ is None
