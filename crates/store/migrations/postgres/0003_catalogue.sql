-- What the tools of the catalogue keep: preferences, the memory of jobs, skills, and findings.

CREATE TABLE preference_entries (
    id uuid PRIMARY KEY,
    scope_type text NOT NULL,
    -- Null for system only.
    scope_id uuid,
    key text COLLATE "C" NOT NULL,
    value json NOT NULL,
    -- What the value is meant to be; an entry whose value is something else is passed over.
    value_type text NOT NULL,
    version bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by uuid,
    CHECK ((scope_type = 'system') = (scope_id IS NULL))
);
CREATE UNIQUE INDEX preference_entries_of_scope ON preference_entries (scope_type, scope_id, key)
    WHERE scope_id IS NOT NULL;
CREATE UNIQUE INDEX preference_entries_of_system ON preference_entries (key)
    WHERE scope_id IS NULL;

-- No foreign key: a removed entry's changes stay.
CREATE TABLE preference_audit_log (
    id uuid PRIMARY KEY,
    entry_id uuid NOT NULL,
    scope_type text NOT NULL,
    scope_id uuid,
    key text COLLATE "C" NOT NULL,
    old_value json,
    new_value json,
    changed_by uuid,
    changed_at timestamptz NOT NULL,
    reason text
);
CREATE INDEX preference_audit_log_by_entry ON preference_audit_log (entry_id, id);

-- What an agent notes while its job runs; gone with the job.
CREATE TABLE job_memory (
    job_id uuid NOT NULL REFERENCES jobs (id),
    key text COLLATE "C" NOT NULL,
    summary text,
    content text NOT NULL,
    size_bytes bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, key)
);

CREATE TABLE skills (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    scope text NOT NULL,
    -- The project of a project's skill.
    project_id uuid REFERENCES projects (id),
    -- Null: the system's own.
    owner_id uuid REFERENCES users (id),
    content text NOT NULL,
    content_sha256 text NOT NULL,
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK ((scope = 'project') = (project_id IS NOT NULL))
);
CREATE INDEX skills_by_owner ON skills (owner_id, id);
CREATE INDEX skills_by_scope ON skills (scope, id);

CREATE TABLE verification_findings (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    -- What it is about within the task; rows it names may be gone.
    run_id uuid,
    job_id uuid,
    step_index bigint,
    status text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    location text,
    suggestion text,
    -- Who found it: in which role, with which token, for whom.
    agent_type text NOT NULL,
    token_id uuid,
    user_id uuid NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX verification_findings_by_task ON verification_findings (task_id, id);
