-- The key of a node: who registers under its name again proves that it has it. Absent until a node of this version
-- registers, and after the key was revoked.
ALTER TABLE nodes ADD COLUMN public_key BLOB;
-- Whether only a join token for this name may register the next key.
ALTER TABLE nodes ADD COLUMN is_key_revoked INTEGER NOT NULL DEFAULT 0;
-- A removed node stays for the history of its jobs, under a name that no node can have.
ALTER TABLE nodes ADD COLUMN removed_at INTEGER;

CREATE TABLE node_join_tokens (
    id TEXT PRIMARY KEY,
    token_hash BLOB NOT NULL UNIQUE,
    -- The only node that may use it; any new one if absent.
    node_slug TEXT,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    used_by TEXT REFERENCES nodes (id),
    revoked_at INTEGER
);
