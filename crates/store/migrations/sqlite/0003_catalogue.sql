-- What the tools of the catalogue keep: preferences, the memory of jobs, skills, and findings.

CREATE TABLE preference_entries (
    id TEXT PRIMARY KEY,
    scope_type TEXT NOT NULL,
    -- Null for system only.
    scope_id TEXT,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- What the value is meant to be; an entry whose value is something else is passed over.
    value_type TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT,
    CHECK ((scope_type = 'system') = (scope_id IS NULL))
);
CREATE UNIQUE INDEX preference_entries_of_scope ON preference_entries (scope_type, scope_id, key)
    WHERE scope_id IS NOT NULL;
CREATE UNIQUE INDEX preference_entries_of_system ON preference_entries (key)
    WHERE scope_id IS NULL;

-- No foreign key: a removed entry's changes stay.
CREATE TABLE preference_audit_log (
    id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL,
    scope_type TEXT NOT NULL,
    scope_id TEXT,
    key TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT,
    changed_by TEXT,
    changed_at INTEGER NOT NULL,
    reason TEXT
);
CREATE INDEX preference_audit_log_by_entry ON preference_audit_log (entry_id, id);

-- What an agent notes while its job runs; gone with the job.
CREATE TABLE job_memory (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    key TEXT NOT NULL,
    summary TEXT,
    content TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
);

CREATE TABLE skills (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    -- The project of a project's skill.
    project_id TEXT REFERENCES projects (id),
    -- Null: the system's own.
    owner_id TEXT REFERENCES users (id),
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((scope = 'project') = (project_id IS NOT NULL))
);
CREATE INDEX skills_by_owner ON skills (owner_id, id);
CREATE INDEX skills_by_scope ON skills (scope, id);

CREATE TABLE verification_findings (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    -- What it is about within the task; rows it names may be gone.
    run_id TEXT,
    job_id TEXT,
    step_index INTEGER,
    status TEXT NOT NULL,
    severity TEXT NOT NULL,
    message TEXT NOT NULL,
    location TEXT,
    suggestion TEXT,
    -- Who found it: in which role, with which token, for whom.
    agent_type TEXT NOT NULL,
    token_id TEXT,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX verification_findings_by_task ON verification_findings (task_id, id);
