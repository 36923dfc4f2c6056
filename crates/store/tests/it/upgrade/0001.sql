-- One row of each kind, as a database of the first schema holds them. The test fills in what the two
-- engines spell differently: <id:N> is an id, <now> a moment, <b:…> bytes.
INSERT INTO users VALUES (<id:1>, 'ada', true, true, <now>, <now>);
INSERT INTO password_credentials VALUES (<id:1>, '$argon2id$v=19$m=8$c2FsdA$aGFzaA', 'argon2id', <now>);
INSERT INTO refresh_sessions VALUES (<id:2>, <id:1>, <b:0a>, <b:0b>, <now>, true, <now>, <now>, <now>);
INSERT INTO spent_refresh_tokens VALUES (<b:0c>, <id:2>, <now>);
INSERT INTO api_tokens VALUES (<id:3>, <id:1>, 'laptop', <b:0d>, <now>, NULL, NULL);
INSERT INTO auth_audit_log VALUES (<id:4>, 'login', <id:1>, 'ada', true, '127.0.0.1', NULL, <now>);
INSERT INTO projects VALUES (<id:5>, 'engine', 'Engine', 'about it', <id:1>, true, true, <now>, <now>);
INSERT INTO tasks VALUES (<id:6>, <id:1>, <id:5>, NULL, 'build', 'completed', true, 'commands', '', '["make"]',
    '[{"kind":"exit_code","equals":0}]',
    '{"expected_outputs":["out.txt"],"limits":{"timeout_s":60,"memory_mib":64,"processes":8,"output_bytes":1024,"disk_mib":16},"retry_interrupted":true,"max_attempts":3}',
    'All is done.', 'once', <now>, <now>, <now>, <now>);
INSERT INTO tasks VALUES (<id:7>, <id:1>, <id:5>, NULL, 'ship', 'pending', false, 'prompt', 'Ship it: "now" – 日本', '[]',
    '[]',
    '{"expected_outputs":[],"limits":{"timeout_s":60,"memory_mib":64,"processes":8,"output_bytes":1024,"disk_mib":16},"retry_interrupted":false,"max_attempts":1}',
    NULL, NULL, <now>, <now>, NULL, NULL);
INSERT INTO task_dependencies VALUES (<id:7>, <id:6>);
INSERT INTO runs VALUES (<id:8>, <id:6>, <id:9>, 'completed', false, <now>, <now>, <now>);
INSERT INTO task_workflow_leases VALUES (<id:10>, <id:6>, <id:8>, <id:11>, NULL, 4, NULL, <now>, <now>);
INSERT INTO workflow_checkpoints VALUES (<id:12>, <id:6>, <id:8>, '{"step":1}', 'finalize', 'next', 3, <now>);
INSERT INTO workflow_history VALUES (<id:8>, 3, <id:6>, 'finalize', 'next', 0, <id:14>, '{"step":1}', 4, 12, <now>);
INSERT INTO workflow_effects VALUES (<id:8>, 'dispatch/0', 2, '{"job":"x"}', <now>);
INSERT INTO nodes VALUES (<id:13>, 'anvil', 'active', <b:0e>, '{"cores":2}', true, 4, <now>, <now>, <now>);
INSERT INTO jobs VALUES (<id:14>, <id:6>, <id:8>, 0, 1, 'completed', true, <id:13>, NULL, '{"line":"make"}',
    '{"ending":{"kind":"exited","code":0}}', false, true, NULL, <now>, <now>, <now>);
INSERT INTO job_logs VALUES (<id:14>, 'stdout', 0, <b:6f6b00ff>);
INSERT INTO task_artifacts VALUES (<id:15>, <id:6>, <id:14>, 'output', 'out.txt', 3, 'abc', <now>);
INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
    VALUES ('task.closed', <id:1>, <id:5>, <id:6>, <id:8>, <id:14>, '{"status":"completed"}', <now>);
