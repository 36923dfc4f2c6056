-- Names of servers are unique for each owner, and among the servers for every user.
ALTER TABLE mcp_servers DROP CONSTRAINT mcp_servers_slug_key;
-- Installed by an administrator for every user.
ALTER TABLE mcp_servers ADD COLUMN is_system boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX mcp_servers_by_owner ON mcp_servers (owner_id, slug) WHERE NOT is_system;
CREATE UNIQUE INDEX mcp_servers_of_system ON mcp_servers (slug) WHERE is_system;

ALTER TABLE mcp_tools DROP CONSTRAINT mcp_tools_name_key;
DROP INDEX mcp_tools_by_server;
CREATE UNIQUE INDEX mcp_tools_by_server ON mcp_tools (server_id, name);
CREATE UNIQUE INDEX mcp_tools_built_in ON mcp_tools (name) WHERE server_id IS NULL;

-- The only server that a rule is about. Until now a name meant one server.
ALTER TABLE access_control_rules ADD COLUMN server_id uuid;
UPDATE access_control_rules SET server_id = s.id FROM mcp_servers s
    WHERE effect = 'allow' AND resource_type = 'mcp.tool'
    AND s.slug || '.' = left(resource_pattern, length(s.slug) + 1);

-- What an administrator shared with every user stays theirs.
UPDATE mcp_servers s SET is_system = true
    WHERE owner_id IN (SELECT id FROM users WHERE is_admin)
    AND EXISTS (SELECT 1 FROM access_control_rules r WHERE r.server_id = s.id AND r.subject_type = 'system'
        AND r.resource_pattern = s.slug || '.*');
