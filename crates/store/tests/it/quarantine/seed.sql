-- Two rows of every table that is claimed or listed; `#` is 1, then 2. Rows that others refer to are in shared.sql.
INSERT INTO users VALUES ('{id}', 'u#', {no}, {yes}, {t}, {t});
INSERT INTO refresh_sessions VALUES ('{id}', '{user}', {b}, {b}, {t}, {yes}, {t}, {t}, {t});
INSERT INTO api_tokens (id, user_id, name, token_hash, created_at) VALUES ('{id}', '{user}', 'n#', {b}, {t});
INSERT INTO node_join_tokens (id, token_hash, created_by, created_at, expires_at) VALUES ('{id}', {b}, '{user}', {t}, {t});
INSERT INTO auth_audit_log (id, event_type, success, created_at) VALUES ('{id}', 'login', {yes}, {t});
INSERT INTO projects (id, slug, display_name, description, owner_id, is_default, is_active, created_at, updated_at)
    VALUES ('{id}', 'p#', 'P', '', '{user}', {no}, {yes}, {t}, {t});
INSERT INTO tasks (id, created_by, project_id, name, status, closed, input_mode, prompt, commands, acceptance_criteria, options, created_at, updated_at)
    VALUES ('{id}', '{user}', '{project}', 't#', 'pending', {no}, 'commands', '', '["true"]', '[]', '{options}', {t}, {t});
INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at) VALUES ('{id}', '{id}', '{id}', 'pending', {yes}, {t});
INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, state, epoch, duration_ms, recorded_at)
    VALUES ('{run}', #, '{task}', 'n', 'e', '{}', 1, 1, {t});
INSERT INTO workflow_effects VALUES ('{run}', 'key/#', 1, '{}', {t});
INSERT INTO nodes (id, node_slug, status, token_hash, capabilities, sandbox_supported, max_concurrency, created_at, updated_at)
    VALUES ('{id}', 'n#', 'drained', {b}, '{}', {yes}, 4, {t}, {t});
INSERT INTO jobs (id, task_id, run_id, step_index, attempt, status, closed, payload, cancel_requested, acknowledged, created_at, owner_id)
    VALUES ('{id}', '{task}', '{run}', #, 1, 'queued', {no}, '{}', {no}, {no}, {t}, '{user}');
INSERT INTO task_artifacts VALUES ('{id}', '{task}', NULL, 'output', 'p#', 1, 'aa', {t});
INSERT INTO events (kind, owner_id, data, occurred_at) VALUES ('k#', '{user}', '{}', {t});
INSERT INTO agent_tokens (id, token_hash, agent_type, user_id, name, created_by, created_at, expires_at)
    VALUES ('{id}', {b}, 'pm', '{user}', 'n', '{user}', {t}, {t});
INSERT INTO mcp_servers (id, slug, owner_id, transport, config, scope, enabled, created_at, updated_at)
    VALUES ('{id}', 's#', '{user}', 'stdio', '{server}', 'both', {yes}, {t}, {t});
INSERT INTO mcp_tools VALUES ('{id}', 'tool#', NULL, 'both', {yes}, {yes}, '{definition}', 'aa', '{definition}', 'aa', {t}, {t}, {no});
INSERT INTO access_control_rules VALUES ('{id}', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'files.*', 'deny', 1, '{}', NULL, {t}, {t}, NULL);
INSERT INTO access_control_audit_log (id, subject_type, subject_id, action, resource_type, resource, decision, created_at)
    VALUES ('{id}', 'user', '{user}', 'rule.create', 'mcp.tool', 'r', 'allow', {t});
INSERT INTO system_settings VALUES ('k#', '1', 'number', 1, {t}, NULL);
INSERT INTO system_settings_audit_log VALUES ('{id}', 'k', NULL, '1', NULL, {t}, NULL, NULL, NULL, NULL);
INSERT INTO mcp_tool_call_audit_log (id, chain_id, seq, created_at, agent_type, group_ids, role_names, tool_name, server, decision, stage, status, origin, request_id, prev_hash, hash)
    VALUES ('{id}', '{id}', 1, {t}, 'pm', '[]', '[]', 'tool', 'builtin', 'allow', 'invoke', 'pending', 'gateway', 'r', {b}, {b});
INSERT INTO preference_entries VALUES ('{id}', 'user', '{user}', 'k#', '1', 'number', 1, {t}, NULL);
INSERT INTO preference_audit_log VALUES ('{id}', '{id}', 'user', '{user}', 'k', NULL, '1', NULL, {t}, NULL, NULL, NULL, NULL);
INSERT INTO job_memory VALUES ('{job}', 'k#', NULL, 'text', 4, {t});
INSERT INTO skills (id, name, scope, owner_id, content, content_sha256, version, created_at, updated_at)
    VALUES ('{id}', 's', 'user', '{user}', 'text', 'aa', 1, {t}, {t});
INSERT INTO verification_findings (id, task_id, status, severity, message, agent_type, user_id, created_at)
    VALUES ('{id}', '{task}', 'pass', 'info', 'm', 'pa', '{user}', {t});
INSERT INTO task_agents (id, task_id, role, holder, status, closed, artifacts, started_at, last_heartbeat_at)
    VALUES ('{id}', '{task}', 'role-#', 'h#', 'running', {no}, '[]', {t}, {t});
INSERT INTO agent_messages (id, task_id, sender, recipient, kind, subtype, content, payload, idempotency_key, created_at)
    VALUES ('{id}', '{task}', 'a', 'pm', 'report', 's', 'text', '{}', 'k#', {t});
INSERT INTO agent_checkpoints VALUES ('{id}', '{task}', 'role-1', '{agent}', 's', '[]', '[]', '[]', NULL, {t});
INSERT INTO work_units (task_id, unit_id, position, component, kind, status, closed, role, revision_count, updated_at)
    VALUES ('{task}', 'u#', #, 'c', 'spec', 'pending', {no}, 'r', 0, {t});
INSERT INTO run_questions (run_id, key, task_id, asked_by, question, asked_at, answer_by)
    VALUES ('{run}', 'k#', '{task}', 'n', '{"kind":"approval","text":"?","accepts":["yes"]}', {t}, {t});
INSERT INTO run_acts VALUES ('{id}', '{run}', '{task}', 1, 'pause', '{user}', 'h', '{}', {t});
INSERT INTO model_providers (name, kind, base_url, is_local, is_enabled, allow_use, models, concurrency, prices, version, updated_at)
    VALUES ('p#', 'ollama', 'http://x', {yes}, {yes}, 'everyone', '[]', 1, '{}', 1, {t});
INSERT INTO api_credentials (id, owner_type, provider, credential_type, credential_name, credential_ciphertext, credential_kid, is_active, version, created_at, updated_at)
    VALUES ('{id}', 'system', 'p', 'api_key', 'n#', {b}, 'k', {yes}, 1, {t}, {t});
INSERT INTO brain_calls (id, created_at, purpose, user_id, trace_id, provider, model, latency_ms, outcome)
    VALUES ('{id}', {t}, 'chat', '{user}', 't', 'p', 'm', 1, 'success');
INSERT INTO egress_audit (id, created_at, call_id, user_id, resource, decision, reason, trace_id)
    VALUES ('{id}', {t}, '{run}', '{user}', 'r', 'allow', 'r', 't');
INSERT INTO pm_decisions (id, handoff, user_id, task_id, trace_id, purpose, decided_by, reason, input_hash, created_at)
    VALUES ('{id}', 'plan', '{user}', '{task}', 't', 'p', 'rule', 'r', '', {t});
INSERT INTO trace_events (id, trace_id, user_id, actor, kind, fields, at, recorded_at)
    VALUES ('{id}', '{run}', '{user}', 'worker', 'step_started', '{}', {t}, {t});
INSERT INTO chat_threads VALUES ('{id}', '{user}', '{project}', 1#, NULL, {t});
INSERT INTO chat_messages (id, thread_id, role, content, is_partial, metadata, created_at)
    VALUES ('{id}', '{thread}', 'user', 'hi', {no}, '{}', {t});
INSERT INTO chat_audit_log (id, created_at, user_id, model, outcome, redaction_applied, redaction_kinds, duration_ms, request_id)
    VALUES ('{id}', {t}, '{user}', 'm', 'ok', {no}, '[]', 1, 'r');
INSERT INTO schedules VALUES ('{id}', '{user}', '{project}', 's#', '{timing}', 'UTC', {t}, '{payload}', {yes}, 'skip', 'allow', {t}, {t}, {t});
INSERT INTO schedule_runs (id, schedule_id, due_at, is_manual, status, summary, attempts, claimed_until, created_at)
    VALUES ('{id}', '{schedule}', {due}, {no}, 'claimed', '', 0, {t}, {t});
INSERT INTO user_groups VALUES ('{id}', 'g#', 'G', NULL, {t});
INSERT INTO user_group_members VALUES ('{group}', '{id}', NULL, {t});
INSERT INTO task_dependencies VALUES ('{task}', '{id}');
INSERT INTO job_outputs VALUES ('{job}', 'o#', 1, 'aa', {t});
INSERT INTO step_verdicts VALUES ('{run}', '{id}', '{task}', '{"status":"pass","findings":[],"recommended_actions":[]}', {t});
INSERT INTO agent_profiles (id, name, revision, spec, created_by, created_at, updated_at)
    VALUES ('{id}', 'agent-#', 1, '{"program":{"kind":"command","command":["agent"]}}', '{user}', {t}, {t});
INSERT INTO agent_canaries VALUES ('{id}', 1, '{id}', {yes}, '{"checks":[]}', '{job}', '{task}', {t});
INSERT INTO capability_leases (id, node_id, node_key, token_id, user_id, claims, issued_at, expires_at)
    VALUES ('{id}', '{id}', 'k', '{id}', '{user}', '{}', {t}, {t});
INSERT INTO lease_keys (id, public_key, owner, created_at) VALUES ('{id}', 'k', '{id}', {t});
INSERT INTO work_requests (task_id, phase, source, settings, state, text_sha256, created_at, updated_at)
    VALUES ('{id}', 'intake', '{"origin":"text"}', '{}', '{}', 'aa', {t}, {t});
INSERT INTO unit_attempts (task_id, unit_id, number, child_task_id, created_at)
    VALUES ('{task}', 'impl', #, '{id}', {t});
INSERT INTO sealed_values VALUES ('s#', 'k', {b});
INSERT INTO notice_channels (id, owner_id, name, kind, notices, target, is_enabled, created_at, attempted_at)
    VALUES ('{id}', '{user}', 'n#', 'webhook', '["question"]', 'h', {yes}, {t}, {t});
INSERT INTO notice_deliveries (id, channel_id, event_txid, event_seq, message, status, due_at, created_at)
    VALUES ('{id}', '{id}', 0, #, '{"kind":"question","title":"t","occurred_at":"2026-01-01T00:00:00Z"}', 'pending', {t}, {t});
INSERT INTO project_forges (id, project_id, repository_url, settings, has_webhook, updated_by, created_at, updated_at)
    VALUES ('{id}', '{project}', '/srv/app#', '{"kind":"gitea","base_url":"https://forge.example","path":"team/app"}', {yes}, '{user}', {t}, {t});
INSERT INTO forge_deliveries VALUES ('{id}', 'aa', {t});
INSERT INTO profiles VALUES ('{id}', '{project}', 'profile-#', {no}, '{"tools":["db.*"]}', 1, '{user}', {t}, {t});
INSERT INTO project_memory VALUES ('{id}', '{project}', '{profile}', 'fact', 't', 'text', 'person', '{user}', NULL, NULL, NULL, NULL, 'k#', 1, {t}, {t});
INSERT INTO knowledge_documents VALUES ('{id}', '{profile}', 'handbook', '#.md', 'markdown', 'hash', 1, 1, 'person', '{user}', {t}, {t});
