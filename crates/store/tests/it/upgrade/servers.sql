-- Servers and rules of the second version, when a name meant one server in the installation.
INSERT INTO users VALUES (<id:60>, 'bob', false, true, <now>, <now>);
INSERT INTO mcp_servers VALUES (<id:61>, 'web', <id:60>, 'http',
    '{"type":"http","url":"https://example.org/mcp","headers":{}}', 'both', true, NULL, <now>, <now>);
INSERT INTO mcp_servers VALUES (<id:62>, 'shared', <id:1>, 'http',
    '{"type":"http","url":"https://example.org/mcp","headers":{}}', 'both', true, NULL, <now>, <now>);
INSERT INTO mcp_servers VALUES (<id:63>, 'open', <id:60>, 'http',
    '{"type":"http","url":"https://example.org/mcp","headers":{}}', 'both', true, NULL, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:71>, 'user', <id:1>, 'mcp.tool.invoke', 'mcp.tool', 'web.get', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:72>, 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'web.*', 'deny', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:73>, 'system', NULL, 'web.fetch', 'web.domain', 'web.example', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:74>, 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'shared.*', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:75>, 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'open.*', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:76>, 'user', <id:60>, 'mcp.tool.invoke', 'mcp.tool', 'website.*', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
