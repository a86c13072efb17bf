"""Skills: folders with a SKILL.md, which an agent reads when a task needs one."""
