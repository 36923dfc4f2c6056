-- Calls to models: providers, the credentials for them, and the record of what was asked and spent.

CREATE TABLE model_providers (
    name text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    base_url text NOT NULL,
    is_local boolean NOT NULL,
    is_enabled boolean NOT NULL,
    allow_use text NOT NULL,
    -- Names of models; empty if the provider is asked.
    models json NOT NULL,
    concurrency bigint NOT NULL,
    prices json NOT NULL,
    version bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by uuid
);

CREATE TABLE api_credentials (
    id uuid PRIMARY KEY,
    owner_type text NOT NULL,
    -- Null for system only.
    owner_id uuid,
    provider text COLLATE "C" NOT NULL,
    credential_type text NOT NULL,
    credential_name text COLLATE "C" NOT NULL,
    -- Sealed together with id, owner, provider and name: it opens in no other row.
    credential_ciphertext bytea NOT NULL,
    -- The key outside the database that opens it.
    credential_kid text NOT NULL,
    is_active boolean NOT NULL,
    expires_at timestamptz,
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by uuid,
    CHECK ((owner_type = 'system') = (owner_id IS NULL))
);
CREATE UNIQUE INDEX api_credentials_of_owner
    ON api_credentials (owner_type, owner_id, provider, credential_name) WHERE owner_id IS NOT NULL;
CREATE UNIQUE INDEX api_credentials_of_system
    ON api_credentials (provider, credential_name) WHERE owner_id IS NULL;

-- No foreign keys: what was spent stays when what it was spent for is gone.
CREATE TABLE brain_calls (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    agent text,
    user_id uuid NOT NULL,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    thread_id uuid,
    trace_id text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    prompt_hash text,
    input_tokens bigint,
    output_tokens bigint,
    -- Null if it is not known.
    cost_micro_usd bigint,
    latency_ms bigint NOT NULL,
    first_ms bigint,
    outcome text NOT NULL,
    error text
);
CREATE INDEX brain_calls_by_time ON brain_calls (created_at);
CREATE INDEX brain_calls_by_run ON brain_calls (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX brain_calls_by_user ON brain_calls (user_id, id);
CREATE INDEX brain_calls_by_purpose ON brain_calls (purpose, id);

-- Decisions about calls out: metadata only.
CREATE TABLE egress_audit (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    -- The call that the decision is about; one call may be decided for several providers.
    call_id uuid NOT NULL,
    agent text,
    user_id uuid NOT NULL,
    task_id uuid,
    resource text NOT NULL,
    decision text NOT NULL,
    reason text NOT NULL,
    credential_id uuid,
    trace_id text NOT NULL
);
CREATE INDEX egress_audit_by_call ON egress_audit (call_id, id);
CREATE INDEX egress_audit_by_time ON egress_audit (created_at);
