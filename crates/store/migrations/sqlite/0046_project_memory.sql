-- What a project's agents and people remember across tasks, in one profile.
CREATE TABLE project_memory (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    profile_id TEXT NOT NULL REFERENCES profiles (id),
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    -- person, rule or model.
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL REFERENCES users (id),
    source_task_id TEXT,
    source_run_id TEXT,
    source_step TEXT,
    source_agent TEXT,
    -- What a rule wrote the entry about.
    rule_key TEXT,
    -- Incremented by every change; starts at 1.
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (profile_id, rule_key)
);
CREATE INDEX project_memory_by_profile ON project_memory (profile_id, id);
