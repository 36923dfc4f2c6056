-- What a project's agents and people remember across tasks, in one profile.
CREATE TABLE project_memory (
    id uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects (id),
    profile_id uuid NOT NULL REFERENCES profiles (id),
    kind text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    -- person, rule or model.
    author_kind text NOT NULL,
    author_id uuid NOT NULL REFERENCES users (id),
    source_task_id uuid,
    source_run_id uuid,
    source_step text,
    source_agent text,
    -- What a rule wrote the entry about.
    rule_key text COLLATE "C",
    -- Incremented by every change; starts at 1.
    revision bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (profile_id, rule_key)
);
CREATE INDEX project_memory_by_profile ON project_memory (profile_id, id);
