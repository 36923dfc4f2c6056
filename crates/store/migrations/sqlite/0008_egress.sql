-- Calls to models: providers, the credentials for them, and the record of what was asked and spent.

CREATE TABLE model_providers (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    base_url TEXT NOT NULL,
    is_local INTEGER NOT NULL,
    is_enabled INTEGER NOT NULL,
    allow_use TEXT NOT NULL,
    -- Names of models; empty if the provider is asked.
    models TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    prices TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT
);

CREATE TABLE api_credentials (
    id TEXT PRIMARY KEY,
    owner_type TEXT NOT NULL,
    -- Null for system only.
    owner_id TEXT,
    provider TEXT NOT NULL,
    credential_type TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    -- Sealed together with id, owner, provider and name: it opens in no other row.
    credential_ciphertext BLOB NOT NULL,
    -- The key outside the database that opens it.
    credential_kid TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    expires_at INTEGER,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT,
    CHECK ((owner_type = 'system') = (owner_id IS NULL))
);
CREATE UNIQUE INDEX api_credentials_of_owner
    ON api_credentials (owner_type, owner_id, provider, credential_name) WHERE owner_id IS NOT NULL;
CREATE UNIQUE INDEX api_credentials_of_system
    ON api_credentials (provider, credential_name) WHERE owner_id IS NULL;

-- No foreign keys: what was spent stays when what it was spent for is gone.
CREATE TABLE brain_calls (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    agent TEXT,
    user_id TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    thread_id TEXT,
    trace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_hash TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    -- Null if it is not known.
    cost_micro_usd INTEGER,
    latency_ms INTEGER NOT NULL,
    first_ms INTEGER,
    outcome TEXT NOT NULL,
    error TEXT
);
CREATE INDEX brain_calls_by_time ON brain_calls (created_at);
CREATE INDEX brain_calls_by_run ON brain_calls (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX brain_calls_by_user ON brain_calls (user_id, id);
CREATE INDEX brain_calls_by_purpose ON brain_calls (purpose, id);

-- Decisions about calls out: metadata only.
CREATE TABLE egress_audit (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The call that the decision is about; one call may be decided for several providers.
    call_id TEXT NOT NULL,
    agent TEXT,
    user_id TEXT NOT NULL,
    task_id TEXT,
    resource TEXT NOT NULL,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    credential_id TEXT,
    trace_id TEXT NOT NULL
);
CREATE INDEX egress_audit_by_call ON egress_audit (call_id, id);
CREATE INDEX egress_audit_by_time ON egress_audit (created_at);
