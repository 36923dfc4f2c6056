INSERT INTO users VALUES ('{user}', 'shared', {no}, {yes}, {t}, {t});
INSERT INTO projects (id, slug, display_name, description, owner_id, is_default, is_active, created_at, updated_at)
    VALUES ('{project}', 'shared', 'P', '', '{user}', {no}, {yes}, {t}, {t});
INSERT INTO tasks (id, created_by, project_id, name, status, closed, input_mode, prompt, commands, acceptance_criteria, options, created_at, updated_at)
    VALUES ('{task}', '{user}', '{project}', 'shared', 'running', {no}, 'commands', '', '["true"]', '[]', '{options}', {t}, {t});
INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at, waits_for) VALUES ('{run}', '{task}', '{run}', 'running', {yes}, {t}, 'answer');
INSERT INTO jobs (id, task_id, run_id, step_index, attempt, status, closed, payload, cancel_requested, acknowledged, created_at, pinned_node_id)
    VALUES ('{job}', '{task}', '{run}', 9, 1, 'completed', {yes}, '{}', {no}, {no}, {t}, NULL);
INSERT INTO task_agents (id, task_id, role, holder, status, closed, artifacts, started_at, last_heartbeat_at)
    VALUES ('{agent}', '{task}', 'shared', 'h', 'running', {no}, '[]', {t}, {t});
INSERT INTO work_plans (task_id, components, created_at) VALUES ('{task}', '[]', {t});
INSERT INTO chat_threads VALUES ('{thread}', '{user}', '{project}', 1, NULL, {t});
INSERT INTO schedules VALUES ('{schedule}', '{user}', '{project}', 'shared', '{timing}', 'UTC', {t}, '{payload}', {no}, 'skip', 'allow', NULL, {t}, {t});
INSERT INTO user_groups VALUES ('{group}', 'shared', 'G', NULL, {t});
INSERT INTO profiles VALUES ('{profile}', '{project}', 'shared', {no}, '{}', 1, '{user}', {t}, {t});
