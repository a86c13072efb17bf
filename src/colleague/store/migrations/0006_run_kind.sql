-- Who works on a run: an expert under its policy, or the main agent. Never told from a name.
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'expert';
UPDATE runs SET kind = 'agent' WHERE expert = 'main' AND session_key = 'agent:main:main' AND digest = '';

-- The main agent's files have an owner that no expert can be called.
UPDATE file_versions SET expert = 'agent:main' WHERE expert = 'main';
UPDATE file_pending SET expert = 'agent:main' WHERE expert = 'main';
UPDATE file_reads SET expert = 'agent:main' WHERE expert = 'main';
