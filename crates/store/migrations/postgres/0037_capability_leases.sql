-- Public keys of the orchestrators whose leases worker nodes accept. The private keys are in files of the orchestrators.
CREATE TABLE lease_keys (
    id text PRIMARY KEY,
    public_key text NOT NULL,
    -- The data directory whose file has the private key.
    owner uuid NOT NULL,
    created_at timestamptz NOT NULL,
    retired_at timestamptz
);

-- Permissions that worker nodes verify without the orchestrator. Audit records of nodes are compared with them, so rows are
-- deleted long after their end.
CREATE TABLE capability_leases (
    id uuid PRIMARY KEY,
    node_id uuid NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    -- The public key of the node, which keeps it when it is removed and joins again.
    node_key text NOT NULL,
    -- The token that asked for it.
    token_id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    -- What was signed: caller, sandbox, tools and limits.
    claims json NOT NULL,
    issued_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    revoked_reason text
);
CREATE INDEX capability_leases_of_node ON capability_leases (node_key, expires_at);

-- Chains of audit records that worker nodes write.
CREATE TABLE edge_audit_chains (
    chain_id uuid PRIMARY KEY,
    node_slug text NOT NULL,
    node_key text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX edge_audit_chains_of_node ON edge_audit_chains (node_key);
