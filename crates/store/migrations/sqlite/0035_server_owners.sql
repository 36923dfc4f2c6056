-- Names of servers are unique for each owner, and among the servers for every user. SQLite cannot remove a constraint, so
-- the tables are copied.
CREATE TABLE mcp_servers_copy (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    -- Installed by an administrator for every user.
    is_system INTEGER NOT NULL DEFAULT 0,
    transport TEXT NOT NULL,
    -- Holds secrets: values of variables and headers.
    config TEXT NOT NULL,
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    listed_at INTEGER
);
INSERT INTO mcp_servers_copy (id, slug, owner_id, transport, config, scope, enabled, last_error, created_at, updated_at, listed_at)
    SELECT id, slug, owner_id, transport, config, scope, enabled, last_error, created_at, updated_at, listed_at FROM mcp_servers;

CREATE TABLE mcp_tools_copy (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    -- Null: built in.
    server_id TEXT REFERENCES mcp_servers_copy (id),
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    -- False: its server no longer offers it. The row stays, so that it cannot come back changed.
    present INTEGER NOT NULL,
    definition TEXT NOT NULL,
    definition_sha256 TEXT NOT NULL,
    approved_definition TEXT NOT NULL,
    approved_sha256 TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    disabled_by_owner INTEGER NOT NULL DEFAULT 0
);
INSERT INTO mcp_tools_copy (id, name, server_id, scope, enabled, present, definition, definition_sha256, approved_definition,
    approved_sha256, first_seen_at, updated_at, disabled_by_owner)
    SELECT id, name, server_id, scope, enabled, present, definition, definition_sha256, approved_definition,
    approved_sha256, first_seen_at, updated_at, disabled_by_owner FROM mcp_tools;
DROP TABLE mcp_tools;
DROP TABLE mcp_servers;
ALTER TABLE mcp_servers_copy RENAME TO mcp_servers;
ALTER TABLE mcp_tools_copy RENAME TO mcp_tools;

CREATE UNIQUE INDEX mcp_servers_by_owner ON mcp_servers (owner_id, slug) WHERE is_system = 0;
CREATE UNIQUE INDEX mcp_servers_of_system ON mcp_servers (slug) WHERE is_system = 1;
CREATE UNIQUE INDEX mcp_tools_by_server ON mcp_tools (server_id, name);
CREATE UNIQUE INDEX mcp_tools_built_in ON mcp_tools (name) WHERE server_id IS NULL;

-- The only server that a rule is about. Until now a name meant one server.
ALTER TABLE access_control_rules ADD COLUMN server_id TEXT;
UPDATE access_control_rules SET server_id = (SELECT s.id FROM mcp_servers s
    WHERE s.slug || '.' = substr(access_control_rules.resource_pattern, 1, length(s.slug) + 1))
    WHERE effect = 'allow' AND resource_type = 'mcp.tool';

-- What an administrator shared with every user stays theirs.
UPDATE mcp_servers SET is_system = 1
    WHERE owner_id IN (SELECT id FROM users WHERE is_admin = 1)
    AND EXISTS (SELECT 1 FROM access_control_rules r WHERE r.server_id = mcp_servers.id AND r.subject_type = 'system'
        AND r.resource_pattern = mcp_servers.slug || '.*');
