-- Why a run failed, as a word for programs, such as context_overflow.
ALTER TABLE runs ADD COLUMN error_kind TEXT;
