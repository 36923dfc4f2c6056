-- Public keys of the orchestrators whose leases worker nodes accept. The private keys are in files of the orchestrators.
CREATE TABLE lease_keys (
    id TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    -- The data directory whose file has the private key.
    owner TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
);

-- Permissions that worker nodes verify without the orchestrator. Audit records of nodes are compared with them, so rows are
-- deleted long after their end.
CREATE TABLE capability_leases (
    id TEXT PRIMARY KEY,
    node_id TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    -- The public key of the node, which keeps it when it is removed and joins again.
    node_key TEXT NOT NULL,
    -- The token that asked for it.
    token_id TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- What was signed: caller, sandbox, tools and limits.
    claims TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_reason TEXT
);
CREATE INDEX capability_leases_of_node ON capability_leases (node_key, expires_at);

-- Chains of audit records that worker nodes write.
CREATE TABLE edge_audit_chains (
    chain_id TEXT PRIMARY KEY,
    node_slug TEXT NOT NULL,
    node_key TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX edge_audit_chains_of_node ON edge_audit_chains (node_key);
