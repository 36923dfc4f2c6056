-- One row of each kind that the second schema added, with a chain of calls as its writer left it.
INSERT INTO agent_tokens VALUES (<id:20>, <b:1a>, 'pm', <id:1>, <id:5>, <id:6>, NULL, NULL, NULL, 'planner', <id:1>,
    <now>, <now>, NULL);
INSERT INTO mcp_servers VALUES (<id:21>, 'files', <id:1>, 'http',
    '{"type":"http","url":"https://example.org/mcp","headers":{"x-key":"sesame"}}', 'both', true, NULL, <now>, <now>);
INSERT INTO mcp_tools VALUES (<id:22>, 'files.read', <id:21>, 'pm', true, true,
    '{"description":"reads","input_schema":{"type":"object"}}', 'aa',
    '{"description":"reads","input_schema":{"type":"object"}}', 'aa', <now>, <now>);
INSERT INTO access_control_rules VALUES (<id:23>, 'user', <id:1>, 'mcp.tool.invoke', 'mcp.tool', 'files.*', 'allow', 0,
    '{}', <id:1>, <now>, <now>);
INSERT INTO access_control_audit_log VALUES (<id:24>, 'user', <id:1>, 'rule.create', 'rule', 'files.*', 'allow', NULL,
    NULL, <now>);
INSERT INTO system_settings VALUES ('mcp.audit.retention_days', '90', 'number', 2, <now>, <id:1>);
INSERT INTO system_settings_audit_log VALUES (<id:25>, 'mcp.audit.retention_days', '30', '90', <id:1>, <now>, 'law');
INSERT INTO mcp_audit_chains VALUES (<id:30>, 3, <b:84db3441c7a0920e1e194641cc8e61fd5a258024d4da75176ba84ffec3f4c760>, 4, <now>);
-- Another chain, all of which was removed because of its age.
INSERT INTO mcp_audit_chains VALUES (<id:33>, 7, <b:77>, 8, <now>);
INSERT INTO mcp_audit_anchors VALUES (<id:33>, 7, <b:77>, <now>);
INSERT INTO mcp_tool_call_audit_log VALUES (<id:31>, <id:30>, 1, <now>, 'pm', <id:20>, <id:1>, '[]', '["user"]',
    <id:5>, <id:6>, NULL, NULL, 'db.task.get', 'builtin', 'deny', 'rules', 'error', 'forbidden', NULL, 'gateway',
    'request-1', <b:091a2b165f5fd20289ebe35deda12673ebe9bc644d4f07865c91854de598bf7c>,
    <b:594d0ee43e5b27d70ecff8dbc166b808f6bfb0295a837e2727a62b3b567f5191>);
INSERT INTO mcp_tool_call_audit_log VALUES (<id:32>, <id:30>, 2, <now>, 'pm', <id:20>, <id:1>, '[]', '["user"]',
    <id:5>, <id:6>, NULL, NULL, 'db.task.get', 'builtin', 'allow', 'invoke', 'pending', NULL, NULL, 'gateway',
    'request-2', <b:594d0ee43e5b27d70ecff8dbc166b808f6bfb0295a837e2727a62b3b567f5191>,
    <b:d4f8f7a58458a6a4e38dd94df2f3646723c77d364f49358da0b3af9047a048c3>);
INSERT INTO mcp_tool_call_outcomes VALUES (<id:32>, <id:30>, 3, 'success', NULL, 3, <now>,
    <b:d4f8f7a58458a6a4e38dd94df2f3646723c77d364f49358da0b3af9047a048c3>,
    <b:84db3441c7a0920e1e194641cc8e61fd5a258024d4da75176ba84ffec3f4c760>);
