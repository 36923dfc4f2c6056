-- The key of a node: who registers under its name again proves that it has it. Absent until a node of this version
-- registers, and after the key was revoked.
ALTER TABLE nodes ADD COLUMN public_key bytea;
-- Whether only a join token for this name may register the next key.
ALTER TABLE nodes ADD COLUMN is_key_revoked boolean NOT NULL DEFAULT false;
-- A removed node stays for the history of its jobs, under a name that no node can have.
ALTER TABLE nodes ADD COLUMN removed_at timestamptz;

CREATE TABLE node_join_tokens (
    id uuid PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE,
    -- The only node that may use it; any new one if absent.
    node_slug text,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    used_by uuid REFERENCES nodes (id),
    revoked_at timestamptz
);
