-- When the server first listed its tools: tools that it adds later wait for a review.
ALTER TABLE mcp_servers ADD COLUMN listed_at timestamptz;
UPDATE mcp_servers SET listed_at = updated_at WHERE id IN (SELECT server_id FROM mcp_tools);
-- The switch of the server's owner, beside that of administrators.
ALTER TABLE mcp_tools ADD COLUMN disabled_by_owner boolean NOT NULL DEFAULT false;
