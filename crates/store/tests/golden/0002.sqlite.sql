PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version (version bigint NOT NULL);
INSERT INTO schema_version VALUES(1);
INSERT INTO schema_version VALUES(2);
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    handle TEXT NOT NULL UNIQUE,
    is_admin INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO users VALUES('01a1de9e-2eb0-703a-861b-1f02c96f7012','system',0,0,1794736271024790,1794736271024790);
INSERT INTO users VALUES('01a1de9e-2eb0-703a-861b-1f032b934e24','admin',1,1,1794736271024790,1794736271024790);
CREATE TABLE password_credentials (
    user_id TEXT PRIMARY KEY REFERENCES users (id),
    password_hash TEXT NOT NULL,
    hash_alg TEXT NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO password_credentials VALUES('01a1de9e-2eb0-703a-861b-1f032b934e24','$argon2id$v=19$m=19456,t=2,p=1$RwNtq1md1mPbHinQb4q3bA$NIQ4WsgdN55Tz5CJMQ21Su82NqSAZWXKUqqmdGB+Vjc','argon2id',1794736271024790);
CREATE TABLE refresh_sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    refresh_token_hash BLOB NOT NULL UNIQUE,
    access_token_hash BLOB NOT NULL UNIQUE,
    access_expires_at INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
);
CREATE TABLE spent_refresh_tokens (
    refresh_token_hash BLOB PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES refresh_sessions (id),
    spent_at INTEGER NOT NULL
);
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);
INSERT INTO api_tokens VALUES('01a1de9e-2eb0-703a-861b-1f0485bb6894','01a1de9e-2eb0-703a-861b-1f032b934e24','first run',X'c596eb026328426e6f56a9357c321a6ce8e53249f07e2256cbddcb5fad31a4d9',1794736271024790,NULL,NULL);
CREATE TABLE auth_audit_log (
    id TEXT PRIMARY KEY,
    event_type TEXT NOT NULL,
    user_id TEXT,
    subject_handle TEXT,
    success INTEGER NOT NULL,
    ip_address TEXT,
    reason TEXT,
    created_at INTEGER NOT NULL
);
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    description TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    is_default INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO projects VALUES('01a1de9e-38fa-71cf-8024-58d0a9bee48f','default-01a1de9e-2eb0-703a-861b-1f032b934e24','Default','','01a1de9e-2eb0-703a-861b-1f032b934e24',1,1,1794736273653176,1794736273653176);
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    created_by TEXT NOT NULL REFERENCES users (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    plan_id TEXT,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    input_mode TEXT NOT NULL,
    prompt TEXT NOT NULL,
    commands TEXT NOT NULL,
    acceptance_criteria TEXT NOT NULL,
    options TEXT NOT NULL,
    summary TEXT,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    UNIQUE (created_by, name),
    UNIQUE (created_by, idempotency_key)
);
INSERT INTO tasks VALUES('01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'done','completed',1,'commands','','["echo ran","echo again"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}','2 steps verified; the last command exited with code 0.',NULL,1794736273653176,1794736274554481,1794736273681633,1794736274554482);
INSERT INTO tasks VALUES('01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'broken','failed',1,'commands','','["exit 3"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}','Step 1 of 1 failed after 1 attempt: the command exited with code 3.',NULL,1794736274086311,1794736274553630,1794736274117249,1794736274553631);
INSERT INTO tasks VALUES('01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'stopped','canceled',1,'commands','','["sleep 50"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}','canceled by admin',NULL,1794736276209396,1794736277349938,1794736276226194,1794736277349940);
INSERT INTO tasks VALUES('01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'half','running',0,'commands','','["echo one; sleep 2","echo two"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}',NULL,NULL,1794736277449284,1794736277455284,1794736277455285,NULL);
INSERT INTO tasks VALUES('01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'dispatched','running',0,'commands','','["echo only"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}',NULL,NULL,1794736279206845,1794736279223788,1794736279223791,NULL);
INSERT INTO tasks VALUES('01a1de9e-5110-7291-918f-548def1a4615','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'behind','pending',0,'commands','','["echo last"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}',NULL,NULL,1794736279824686,1794736279824686,NULL,NULL);
INSERT INTO tasks VALUES('01a1de9e-6426-7587-9253-b4deb06102b6','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f',NULL,'waiting','pending',0,'commands','','["echo soon"]','[]','{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}',NULL,NULL,1794736284710353,1794736284710353,NULL,NULL);
CREATE TABLE task_dependencies (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    depends_on_task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, depends_on_task_id),
    CHECK (task_id <> depends_on_task_id)
);
INSERT INTO task_dependencies VALUES('01a1de9e-5110-7291-918f-548def1a4615','01a1de9e-4ea6-7742-b751-5d116c6dc12e');
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    trace_id TEXT NOT NULL,
    status TEXT NOT NULL,
    -- True while a runner may drive it; what claims look at.
    runnable INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER
);
INSERT INTO runs VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0d213668ee','completed',0,1794736273659287,1794736273681815,1794736274554507);
INSERT INTO runs VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b302675005d','failed',0,1794736274089801,1794736274117374,1794736274553685);
INSERT INTO runs VALUES('01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d90f965d1f8','canceled',0,1794736276210094,1794736276226322,1794736277350135);
INSERT INTO runs VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b3e91ef3c1','running',1,1794736277450384,1794736277455385,NULL);
INSERT INTO runs VALUES('01a1de9e-4ea7-7163-a0cf-23616f888e59','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-2362ab50dd82','running',1,1794736279207717,1794736279224023,NULL);
INSERT INTO runs VALUES('01a1de9e-511a-7377-b819-142faa49dd6a','01a1de9e-5110-7291-918f-548def1a4615','01a1de9e-511a-7377-b819-1430faf37b53','pending',1,1794736279834728,NULL,NULL);
INSERT INTO runs VALUES('01a1de9e-6431-74fa-bc0e-2a490664452b','01a1de9e-6426-7587-9253-b4deb06102b6','01a1de9e-6431-74fa-bc0e-2a4a80208c39','pending',1,1794736284721244,NULL,NULL);
CREATE TABLE task_workflow_leases (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    lease_id TEXT NOT NULL,
    -- Null: free.
    holder_id TEXT,
    -- Grows with every grant and every fencing; a writer with an older one is refused.
    epoch INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO task_workflow_leases VALUES('01a1de9e-3911-74ce-b4f2-cd4671591a22','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3910-701d-93a8-48e66c396205',NULL,1,NULL,1794736273681268,1794736274554453);
INSERT INTO task_workflow_leases VALUES('01a1de9e-3ac4-72c3-a4b4-c22978e9e5f8','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3ac4-72c3-a4b4-c2286724dba6',NULL,1,NULL,1794736274117003,1794736274553588);
INSERT INTO task_workflow_leases VALUES('01a1de9e-4301-744d-b8a2-10eee06038f6','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-4301-744d-b8a2-10ed1c2b9b72',NULL,2,NULL,1794736276225970,1794736277349880);
INSERT INTO task_workflow_leases VALUES('01a1de9e-47cf-7308-ba89-824162c3c662','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47cf-7308-ba89-8240204ded2e','01a1de9e-3259-74f3-b752-142cd00a80ca',1,1794736289146581,1794736277455101,1794736284146583);
INSERT INTO task_workflow_leases VALUES('01a1de9e-4eb7-73d6-8d84-3ffd1aa6522b','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59','01a1de9e-4eb7-73d6-8d84-3ffce45893a0','01a1de9e-3259-74f3-b752-142cd00a80ca',1,1794736289248969,1794736279223503,1794736284248971);
CREATE TABLE workflow_checkpoints (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    state TEXT NOT NULL,
    last_node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO workflow_checkpoints VALUES('01a1de9e-3939-7700-9ecf-c0d41d090e27','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":{"outcome":"completed","summary":"2 steps verified; the last command exited with code 0."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}','finalize_summary','finished',9,1794736274554240);
INSERT INTO workflow_checkpoints VALUES('01a1de9e-3b24-7522-a6e2-33e8e1049e00','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":{"outcome":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}','mark_failed','finished',6,1794736274553278);
INSERT INTO workflow_checkpoints VALUES('01a1de9e-431c-7152-86ab-1f754c872454','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-4356-71a0-b633-109f2a0166b5","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-42f1-779b-938c-ae740f19ec75","verification":null}','dispatch_step','dispatched',3,1794736276350962);
INSERT INTO workflow_checkpoints VALUES('01a1de9e-47e2-7536-9d69-2505d32eb20d','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-5177-72cc-8f11-15a1af7c0694","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}','dispatch_step','dispatched',6,1794736280001966);
INSERT INTO workflow_checkpoints VALUES('01a1de9e-4ec9-744c-9414-bb1d9b76c6ea','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-4ef4-7553-83d0-1744b13a290b","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-4ea6-7742-b751-5d116c6dc12e","verification":null}','dispatch_step','dispatched',3,1794736279311023);
CREATE TABLE workflow_history (
    run_id TEXT NOT NULL REFERENCES runs (id),
    sequence INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    step_index INTEGER,
    job_id TEXT,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, sequence)
);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',1,'01a1de9e-38f5-7217-8d74-5861f829be6c','load_task_context','loaded',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo ran","echo again"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":null}',1,9,1794736273721982);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',2,'01a1de9e-38f5-7217-8d74-5861f829be6c','plan_steps','first_step',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":null}',1,0,1794736273739549);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',3,'01a1de9e-38f5-7217-8d74-5861f829be6c','dispatch_step','dispatched',0,'01a1de9e-3958-7241-a677-a24ef6b27a09','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":null}',1,32,1794736273785562);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',4,'01a1de9e-38f5-7217-8d74-5861f829be6c','collect_result','collected',0,'01a1de9e-3958-7241-a677-a24ef6b27a09','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":null}',1,194,1794736273991390);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',5,'01a1de9e-38f5-7217-8d74-5861f829be6c','verify_step_result','next_step',0,'01a1de9e-3958-7241-a677-a24ef6b27a09','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,51,1794736274089029);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',1,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','load_task_context','loaded',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["exit 3"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":null}',1,26,1794736274212746);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',2,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','plan_steps','first_step',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":null}',1,0,1794736274263944);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',6,'01a1de9e-38f5-7217-8d74-5861f829be6c','dispatch_step','dispatched',1,'01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,128,1794736274290484);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',3,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','dispatch_step','dispatched',0,'01a1de9e-3b85-7535-8809-693fd9861768','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":null}',1,31,1794736274336810);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',7,'01a1de9e-38f5-7217-8d74-5861f829be6c','collect_result','collected',1,'01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,167,1794736274477493);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',4,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','collect_result','collected',0,'01a1de9e-3b85-7535-8809-693fd9861768','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":null}',1,102,1794736274493456);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',5,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','verify_step_result','no_retry_left',0,'01a1de9e-3b85-7535-8809-693fd9861768','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}',1,33,1794736274534909);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',8,'01a1de9e-38f5-7217-8d74-5861f829be6c','verify_step_result','all_verified',1,'01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,46,1794736274535594);
INSERT INTO workflow_history VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5',6,'01a1de9e-3aa6-7044-b683-bfaf37a0987f','mark_failed','finished',0,'01a1de9e-3b85-7535-8809-693fd9861768','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":{"outcome":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-3b85-7535-8809-693fd9861768","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-3aa6-7044-b683-bfaf37a0987f","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}',1,0,1794736274553407);
INSERT INTO workflow_history VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9',9,'01a1de9e-38f5-7217-8d74-5861f829be6c','finalize_summary','finished',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":{"outcome":"completed","summary":"2 steps verified; the last command exited with code 0."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-38f5-7217-8d74-5861f829be6c","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,0,1794736274554355);
INSERT INTO workflow_history VALUES('01a1de9e-42f2-709e-9a41-5d8f550fcccc',1,'01a1de9e-42f1-779b-938c-ae740f19ec75','load_task_context','loaded',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["sleep 50"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-42f1-779b-938c-ae740f19ec75","verification":null}',1,11,1794736276252583);
INSERT INTO workflow_history VALUES('01a1de9e-42f2-709e-9a41-5d8f550fcccc',2,'01a1de9e-42f1-779b-938c-ae740f19ec75','plan_steps','first_step',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-42f1-779b-938c-ae740f19ec75","verification":null}',1,0,1794736276295430);
INSERT INTO workflow_history VALUES('01a1de9e-42f2-709e-9a41-5d8f550fcccc',3,'01a1de9e-42f1-779b-938c-ae740f19ec75','dispatch_step','dispatched',0,'01a1de9e-4356-71a0-b633-109f2a0166b5','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-4356-71a0-b633-109f2a0166b5","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-42f1-779b-938c-ae740f19ec75","verification":null}',1,44,1794736276351092);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',1,'01a1de9e-47c9-762c-8dee-13e436f5a557','load_task_context','loaded',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo one; sleep 2","echo two"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":null}',1,2,1794736277474712);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',2,'01a1de9e-47c9-762c-8dee-13e436f5a557','plan_steps','first_step',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":null}',1,0,1794736277478096);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',3,'01a1de9e-47c9-762c-8dee-13e436f5a557','dispatch_step','dispatched',0,'01a1de9e-47f5-70de-9b7f-06346c609db8','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":null}',1,59,1794736277543544);
INSERT INTO workflow_history VALUES('01a1de9e-4ea7-7163-a0cf-23616f888e59',1,'01a1de9e-4ea6-7742-b751-5d116c6dc12e','load_task_context','loaded',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo only"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-4ea6-7742-b751-5d116c6dc12e","verification":null}',1,2,1794736279241537);
INSERT INTO workflow_history VALUES('01a1de9e-4ea7-7163-a0cf-23616f888e59',2,'01a1de9e-4ea6-7742-b751-5d116c6dc12e','plan_steps','first_step',NULL,NULL,'{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-4ea6-7742-b751-5d116c6dc12e","verification":null}',1,0,1794736279257020);
INSERT INTO workflow_history VALUES('01a1de9e-4ea7-7163-a0cf-23616f888e59',3,'01a1de9e-4ea6-7742-b751-5d116c6dc12e','dispatch_step','dispatched',0,'01a1de9e-4ef4-7553-83d0-1744b13a290b','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-4ef4-7553-83d0-1744b13a290b","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-4ea6-7742-b751-5d116c6dc12e","verification":null}',1,14,1794736279311104);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',4,'01a1de9e-47c9-762c-8dee-13e436f5a557','collect_result','collected',0,'01a1de9e-47f5-70de-9b7f-06346c609db8','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":null}',1,2271,1794736279833906);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',5,'01a1de9e-47c9-762c-8dee-13e436f5a557','verify_step_result','next_step',0,'01a1de9e-47f5-70de-9b7f-06346c609db8','{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,36,1794736279898526);
INSERT INTO workflow_history VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5',6,'01a1de9e-47c9-762c-8dee-13e436f5a557','dispatch_step','dispatched',1,'01a1de9e-5177-72cc-8f11-15a1af7c0694','{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-5177-72cc-8f11-15a1af7c0694","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-47c9-762c-8dee-13e436f5a557","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}',1,68,1794736280002074);
CREATE TABLE workflow_effects (
    run_id TEXT NOT NULL REFERENCES runs (id),
    key TEXT NOT NULL,
    -- The transition during which it happened; older ones are history.
    sequence INTEGER NOT NULL,
    answer TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, key)
);
INSERT INTO workflow_effects VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9','3/dispatch_step/dispatch/0/1',3,'"01a1de9e-3958-7241-a677-a24ef6b27a09"',1794736273763530);
INSERT INTO workflow_effects VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9','5/verify_step_result/verify/01a1de9e-3958-7241-a677-a24ef6b27a09',5,'{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}',1794736274037219);
INSERT INTO workflow_effects VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9','6/dispatch_step/dispatch/1/1',6,'"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3"',1794736274165523);
INSERT INTO workflow_effects VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5','3/dispatch_step/dispatch/0/1',3,'"01a1de9e-3b85-7535-8809-693fd9861768"',1794736274328774);
INSERT INTO workflow_effects VALUES('01a1de9e-3aa9-776f-b807-5b2f2278a7e5','5/verify_step_result/verify/01a1de9e-3b85-7535-8809-693fd9861768',5,'{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}',1794736274522441);
INSERT INTO workflow_effects VALUES('01a1de9e-38fb-71d3-812c-ed0ce53e26d9','8/verify_step_result/verify/01a1de9e-3ad5-773f-9fa9-d8c02eb124d3',8,'{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}',1794736274522718);
INSERT INTO workflow_effects VALUES('01a1de9e-42f2-709e-9a41-5d8f550fcccc','3/dispatch_step/dispatch/0/1',3,'"01a1de9e-4356-71a0-b633-109f2a0166b5"',1794736276334079);
INSERT INTO workflow_effects VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5','3/dispatch_step/dispatch/0/1',3,'"01a1de9e-47f5-70de-9b7f-06346c609db8"',1794736277517782);
INSERT INTO workflow_effects VALUES('01a1de9e-4ea7-7163-a0cf-23616f888e59','3/dispatch_step/dispatch/0/1',3,'"01a1de9e-4ef4-7553-83d0-1744b13a290b"',1794736279295553);
INSERT INTO workflow_effects VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5','5/verify_step_result/verify/01a1de9e-47f5-70de-9b7f-06346c609db8',5,'{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}',1794736279851810);
INSERT INTO workflow_effects VALUES('01a1de9e-47ca-7491-a2c0-55b2dd5129e5','6/dispatch_step/dispatch/1/1',6,'"01a1de9e-5177-72cc-8f11-15a1af7c0694"',1794736279961022);
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    node_slug TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    capabilities TEXT NOT NULL,
    sandbox_supported INTEGER NOT NULL,
    max_concurrency INTEGER NOT NULL,
    last_seen_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO nodes VALUES('01a1de9e-34cc-739f-97fd-267039763be5','anvil','drained',X'6db02ce6fc3abba8a3a4ddb49f4325f23a6d159c5d74c9715dd5d7c19be090f0','{"arch":"x86_64","cpu_cores":2,"max_concurrency":4,"memory_mib":24104,"os":"linux","sandbox":{"backend":"namespaces","features":["pid_namespace","mount_namespace","network_namespace","ipc_namespace","uts_namespace","rlimits","no_capabilities","no_new_privs","own_user","landlock","seccomp"],"supported":true}}',1,4,1794736289971322,1794736272588109,1794736279133163);
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    step_index INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    node_id TEXT REFERENCES nodes (id),
    -- The node that has the task's workspace; null until a first job ran.
    pinned_node_id TEXT REFERENCES nodes (id),
    payload TEXT NOT NULL,
    result TEXT,
    cancel_requested INTEGER NOT NULL,
    -- Whether its node has said that it has it; from then on it is never handed out again.
    acknowledged INTEGER NOT NULL,
    lease_expires_at INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    UNIQUE (run_id, step_index, attempt)
);
INSERT INTO jobs VALUES('01a1de9e-3958-7241-a677-a24ef6b27a09','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',0,1,'completed',1,'01a1de9e-34cc-739f-97fd-267039763be5',NULL,'{"action":{"kind":"command","line":"echo ran"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}','{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"ran\n","truncated":{"stderr":false,"stdout":false}}',0,1,NULL,1794736273752351,1794736273764186,1794736273952523);
INSERT INTO jobs VALUES('01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',1,1,'completed',1,'01a1de9e-34cc-739f-97fd-267039763be5','01a1de9e-34cc-739f-97fd-267039763be5','{"action":{"kind":"command","line":"echo again"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}','{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"again\n","truncated":{"stderr":false,"stdout":false}}',0,1,NULL,1794736274133691,1794736274150637,1794736274453374);
INSERT INTO jobs VALUES('01a1de9e-3b85-7535-8809-693fd9861768','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5',0,1,'completed',1,'01a1de9e-34cc-739f-97fd-267039763be5',NULL,'{"action":{"kind":"command","line":"exit 3"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}','{"ending":{"code":3,"kind":"exited"},"stderr":"","stdout":"","truncated":{"stderr":false,"stdout":false}}',0,1,NULL,1794736274309550,1794736274320883,1794736274468921);
INSERT INTO jobs VALUES('01a1de9e-4356-71a0-b633-109f2a0166b5','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc',0,1,'canceled',1,'01a1de9e-34cc-739f-97fd-267039763be5',NULL,'{"action":{"kind":"command","line":"sleep 50"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}','{"ending":{"kind":"canceled"},"stderr":"","stdout":"","truncated":{"stderr":false,"stdout":false}}',1,1,NULL,1794736276310589,1794736276333529,1794736277448458);
INSERT INTO jobs VALUES('01a1de9e-47f5-70de-9b7f-06346c609db8','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5',0,1,'completed',1,'01a1de9e-34cc-739f-97fd-267039763be5',NULL,'{"action":{"kind":"command","line":"echo one; sleep 2"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}','{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"one\n","truncated":{"stderr":false,"stdout":false}}',0,1,NULL,1794736277493312,1794736277645241,1794736279813025);
INSERT INTO jobs VALUES('01a1de9e-4ef4-7553-83d0-1744b13a290b','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59',0,1,'queued',0,NULL,NULL,'{"action":{"kind":"command","line":"echo only"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}',NULL,0,0,NULL,1794736279284400,NULL,NULL);
INSERT INTO jobs VALUES('01a1de9e-5177-72cc-8f11-15a1af7c0694','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5',1,1,'queued',0,NULL,'01a1de9e-34cc-739f-97fd-267039763be5','{"action":{"kind":"command","line":"echo two"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}',NULL,0,0,NULL,1794736279927561,NULL,NULL);
CREATE TABLE job_logs (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    stream TEXT NOT NULL,
    start_offset INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (job_id, stream, start_offset)
);
INSERT INTO job_logs VALUES('01a1de9e-3958-7241-a677-a24ef6b27a09','stdout',0,X'72616e0a');
INSERT INTO job_logs VALUES('01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','stdout',0,X'616761696e0a');
INSERT INTO job_logs VALUES('01a1de9e-47f5-70de-9b7f-06346c609db8','stdout',0,X'6f6e650a');
CREATE TABLE task_artifacts (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    job_id TEXT REFERENCES jobs (id),
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    checksum_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (task_id, kind, path)
);
CREATE TABLE events (
    txid INTEGER NOT NULL DEFAULT 0,
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    owner_id TEXT,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    data TEXT NOT NULL,
    occurred_at INTEGER NOT NULL
);
INSERT INTO events VALUES(0,1,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c',NULL,NULL,'{"name":"done"}',1794736273659650);
INSERT INTO events VALUES(0,2,'task.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c',NULL,NULL,'{"run_id":"01a1de9e-38fb-71d3-812c-ed0ce53e26d9"}',1794736273681716);
INSERT INTO events VALUES(0,3,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',NULL,'{"duration_ms":9,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}',1794736273722098);
INSERT INTO events VALUES(0,4,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',NULL,'{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}',1794736273739680);
INSERT INTO events VALUES(0,5,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"attempt":1,"step_index":0}',1794736273752464);
INSERT INTO events VALUES(0,6,'job.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"attempt":1,"node_id":"01a1de9e-34cc-739f-97fd-267039763be5","step_index":0}',1794736273764376);
INSERT INTO events VALUES(0,7,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"duration_ms":32,"edge":"dispatched","job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","node":"dispatch_step","sequence":3,"step_index":0}',1794736273785659);
INSERT INTO events VALUES(0,8,'job.ended','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":0}',1794736273957043);
INSERT INTO events VALUES(0,9,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"duration_ms":194,"edge":"collected","job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","node":"collect_result","sequence":4,"step_index":0}',1794736273991494);
INSERT INTO events VALUES(0,10,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3958-7241-a677-a24ef6b27a09','{"duration_ms":51,"edge":"next_step","job_id":"01a1de9e-3958-7241-a677-a24ef6b27a09","node":"verify_step_result","sequence":5,"step_index":0}',1794736274089154);
INSERT INTO events VALUES(0,11,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f',NULL,NULL,'{"name":"broken"}',1794736274090016);
INSERT INTO events VALUES(0,12,'task.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f',NULL,NULL,'{"run_id":"01a1de9e-3aa9-776f-b807-5b2f2278a7e5"}',1794736274117326);
INSERT INTO events VALUES(0,13,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"attempt":1,"step_index":1}',1794736274133776);
INSERT INTO events VALUES(0,14,'job.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"attempt":1,"node_id":"01a1de9e-34cc-739f-97fd-267039763be5","step_index":1}',1794736274150831);
INSERT INTO events VALUES(0,15,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5',NULL,'{"duration_ms":26,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}',1794736274212827);
INSERT INTO events VALUES(0,16,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5',NULL,'{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}',1794736274264021);
INSERT INTO events VALUES(0,17,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"duration_ms":128,"edge":"dispatched","job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","node":"dispatch_step","sequence":6,"step_index":1}',1794736274290578);
INSERT INTO events VALUES(0,18,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"attempt":1,"step_index":0}',1794736274309631);
INSERT INTO events VALUES(0,19,'job.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"attempt":1,"node_id":"01a1de9e-34cc-739f-97fd-267039763be5","step_index":0}',1794736274321050);
INSERT INTO events VALUES(0,20,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"duration_ms":31,"edge":"dispatched","job_id":"01a1de9e-3b85-7535-8809-693fd9861768","node":"dispatch_step","sequence":3,"step_index":0}',1794736274336952);
INSERT INTO events VALUES(0,21,'job.ended','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":1}',1794736274453545);
INSERT INTO events VALUES(0,22,'job.ended','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"attempt":1,"ending":{"code":3,"kind":"exited"},"status":"completed","step_index":0}',1794736274469118);
INSERT INTO events VALUES(0,23,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"duration_ms":167,"edge":"collected","job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","node":"collect_result","sequence":7,"step_index":1}',1794736274477582);
INSERT INTO events VALUES(0,24,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"duration_ms":102,"edge":"collected","job_id":"01a1de9e-3b85-7535-8809-693fd9861768","node":"collect_result","sequence":4,"step_index":0}',1794736274493539);
INSERT INTO events VALUES(0,25,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"duration_ms":33,"edge":"no_retry_left","job_id":"01a1de9e-3b85-7535-8809-693fd9861768","node":"verify_step_result","sequence":5,"step_index":0}',1794736274535002);
INSERT INTO events VALUES(0,26,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9','01a1de9e-3ad5-773f-9fa9-d8c02eb124d3','{"duration_ms":46,"edge":"all_verified","job_id":"01a1de9e-3ad5-773f-9fa9-d8c02eb124d3","node":"verify_step_result","sequence":8,"step_index":1}',1794736274535673);
INSERT INTO events VALUES(0,27,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5','01a1de9e-3b85-7535-8809-693fd9861768','{"duration_ms":0,"edge":"finished","job_id":"01a1de9e-3b85-7535-8809-693fd9861768","node":"mark_failed","sequence":6,"step_index":0}',1794736274553496);
INSERT INTO events VALUES(0,28,'task.closed','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-3aa6-7044-b683-bfaf37a0987f','01a1de9e-3aa9-776f-b807-5b2f2278a7e5',NULL,'{"status":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."}',1794736274553731);
INSERT INTO events VALUES(0,29,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',NULL,'{"duration_ms":0,"edge":"finished","job_id":null,"node":"finalize_summary","sequence":9,"step_index":null}',1794736274554424);
INSERT INTO events VALUES(0,30,'task.closed','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-38f5-7217-8d74-5861f829be6c','01a1de9e-38fb-71d3-812c-ed0ce53e26d9',NULL,'{"status":"completed","summary":"2 steps verified; the last command exited with code 0."}',1794736274554541);
INSERT INTO events VALUES(0,31,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75',NULL,NULL,'{"name":"stopped"}',1794736276210284);
INSERT INTO events VALUES(0,32,'task.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75',NULL,NULL,'{"run_id":"01a1de9e-42f2-709e-9a41-5d8f550fcccc"}',1794736276226272);
INSERT INTO events VALUES(0,33,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc',NULL,'{"duration_ms":11,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}',1794736276252706);
INSERT INTO events VALUES(0,34,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc',NULL,'{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}',1794736276295523);
INSERT INTO events VALUES(0,35,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-4356-71a0-b633-109f2a0166b5','{"attempt":1,"step_index":0}',1794736276310683);
INSERT INTO events VALUES(0,36,'job.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-4356-71a0-b633-109f2a0166b5','{"attempt":1,"node_id":"01a1de9e-34cc-739f-97fd-267039763be5","step_index":0}',1794736276333749);
INSERT INTO events VALUES(0,37,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-4356-71a0-b633-109f2a0166b5','{"duration_ms":44,"edge":"dispatched","job_id":"01a1de9e-4356-71a0-b633-109f2a0166b5","node":"dispatch_step","sequence":3,"step_index":0}',1794736276351195);
INSERT INTO events VALUES(0,38,'task.closed','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75',NULL,NULL,'{"status":"canceled","summary":"canceled by admin"}',1794736277350445);
INSERT INTO events VALUES(0,39,'job.ended','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-42f1-779b-938c-ae740f19ec75','01a1de9e-42f2-709e-9a41-5d8f550fcccc','01a1de9e-4356-71a0-b633-109f2a0166b5','{"attempt":1,"ending":{"kind":"canceled"},"status":"canceled","step_index":0}',1794736277448732);
INSERT INTO events VALUES(0,40,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557',NULL,NULL,'{"name":"half"}',1794736277450556);
INSERT INTO events VALUES(0,41,'task.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557',NULL,NULL,'{"run_id":"01a1de9e-47ca-7491-a2c0-55b2dd5129e5"}',1794736277455344);
INSERT INTO events VALUES(0,42,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5',NULL,'{"duration_ms":2,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}',1794736277474773);
INSERT INTO events VALUES(0,43,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5',NULL,'{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}',1794736277478155);
INSERT INTO events VALUES(0,44,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"attempt":1,"step_index":0}',1794736277493384);
INSERT INTO events VALUES(0,45,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"duration_ms":59,"edge":"dispatched","job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","node":"dispatch_step","sequence":3,"step_index":0}',1794736277543620);
INSERT INTO events VALUES(0,46,'job.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"attempt":1,"node_id":"01a1de9e-34cc-739f-97fd-267039763be5","step_index":0}',1794736277645404);
INSERT INTO events VALUES(0,47,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e',NULL,NULL,'{"name":"dispatched"}',1794736279208139);
INSERT INTO events VALUES(0,48,'task.started','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e',NULL,NULL,'{"run_id":"01a1de9e-4ea7-7163-a0cf-23616f888e59"}',1794736279223954);
INSERT INTO events VALUES(0,49,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59',NULL,'{"duration_ms":2,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}',1794736279241640);
INSERT INTO events VALUES(0,50,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59',NULL,'{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}',1794736279257116);
INSERT INTO events VALUES(0,51,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59','01a1de9e-4ef4-7553-83d0-1744b13a290b','{"attempt":1,"step_index":0}',1794736279284472);
INSERT INTO events VALUES(0,52,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-4ea6-7742-b751-5d116c6dc12e','01a1de9e-4ea7-7163-a0cf-23616f888e59','01a1de9e-4ef4-7553-83d0-1744b13a290b','{"duration_ms":14,"edge":"dispatched","job_id":"01a1de9e-4ef4-7553-83d0-1744b13a290b","node":"dispatch_step","sequence":3,"step_index":0}',1794736279311171);
INSERT INTO events VALUES(0,53,'job.ended','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":0}',1794736279813251);
INSERT INTO events VALUES(0,54,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"duration_ms":2271,"edge":"collected","job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","node":"collect_result","sequence":4,"step_index":0}',1794736279833997);
INSERT INTO events VALUES(0,55,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-5110-7291-918f-548def1a4615',NULL,NULL,'{"name":"behind"}',1794736279834860);
INSERT INTO events VALUES(0,56,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-47f5-70de-9b7f-06346c609db8','{"duration_ms":36,"edge":"next_step","job_id":"01a1de9e-47f5-70de-9b7f-06346c609db8","node":"verify_step_result","sequence":5,"step_index":0}',1794736279901405);
INSERT INTO events VALUES(0,57,'job.queued','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-5177-72cc-8f11-15a1af7c0694','{"attempt":1,"step_index":1}',1794736279927646);
INSERT INTO events VALUES(0,58,'workflow.transition','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-47c9-762c-8dee-13e436f5a557','01a1de9e-47ca-7491-a2c0-55b2dd5129e5','01a1de9e-5177-72cc-8f11-15a1af7c0694','{"duration_ms":68,"edge":"dispatched","job_id":"01a1de9e-5177-72cc-8f11-15a1af7c0694","node":"dispatch_step","sequence":6,"step_index":1}',1794736280002149);
INSERT INTO events VALUES(0,59,'task.created','01a1de9e-2eb0-703a-861b-1f032b934e24','01a1de9e-38fa-71cf-8024-58d0a9bee48f','01a1de9e-6426-7587-9253-b4deb06102b6',NULL,NULL,'{"name":"waiting"}',1794736284721482);
CREATE TABLE agent_tokens (
    id TEXT PRIMARY KEY,
    token_hash BLOB NOT NULL UNIQUE,
    agent_type TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- What the token is bound to; rows it names may be gone.
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    session_id TEXT,
    name TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE TABLE mcp_servers (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    owner_id TEXT NOT NULL REFERENCES users (id),
    transport TEXT NOT NULL,
    -- Holds secrets: values of variables and headers.
    config TEXT NOT NULL,
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE TABLE mcp_tools (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Null: built in.
    server_id TEXT REFERENCES mcp_servers (id),
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    -- False: its server no longer offers it. The row stays, so that it cannot come back changed.
    present INTEGER NOT NULL,
    definition TEXT NOT NULL,
    definition_sha256 TEXT NOT NULL,
    approved_definition TEXT NOT NULL,
    approved_sha256 TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
INSERT INTO mcp_tools VALUES('01a1de9e-2fc7-76c5-8753-d43ba669aa25','help.get',NULL,'both',1,1,'{"description":"What CyNode is and how its tools are used. Without a topic: an overview.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"topic":{"description":"overview, tasks, artifacts, ids or errors.","maxLength":100,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"markdown":{},"topic":{}},"required":["topic","markdown"],"type":"object"},"title":"Get help"}','6bbeea0588def9542950c5624127f6ead67fae8a314961c5f8bde56c90c22571','{"description":"What CyNode is and how its tools are used. Without a topic: an overview.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"topic":{"description":"overview, tasks, artifacts, ids or errors.","maxLength":100,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"markdown":{},"topic":{}},"required":["topic","markdown"],"type":"object"},"title":"Get help"}','6bbeea0588def9542950c5624127f6ead67fae8a314961c5f8bde56c90c22571',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fc7-76c5-8753-d43c05667488','artifact.get',NULL,'both',1,1,'{"description":"A file of a task with its content, in standard base64.","input_schema":{"additionalProperties":false,"properties":{"path":{"description":"The path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path"],"type":"object"},"output_schema":{"properties":{"artifact":{},"content_bytes_base64":{}},"required":["artifact","content_bytes_base64"],"type":"object"},"title":"Get a file of a task"}','29d57897e39ebbaae9dd95bac04f23b30f971c9903331d353bb2d43084e1a185','{"description":"A file of a task with its content, in standard base64.","input_schema":{"additionalProperties":false,"properties":{"path":{"description":"The path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path"],"type":"object"},"output_schema":{"properties":{"artifact":{},"content_bytes_base64":{}},"required":["artifact","content_bytes_base64"],"type":"object"},"title":"Get a file of a task"}','29d57897e39ebbaae9dd95bac04f23b30f971c9903331d353bb2d43084e1a185',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fc7-76c5-8753-d43d27ab3fe3','artifact.list',NULL,'both',1,1,'{"description":"Every file of a task: outputs and attachments, without content.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the files of a task"}','6a74810bb142a9531a021c21bb2f9c5f98a533614699860754d33ad98869141b','{"description":"Every file of a task: outputs and attachments, without content.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the files of a task"}','6a74810bb142a9531a021c21bb2f9c5f98a533614699860754d33ad98869141b',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fc8-70da-890a-6a6b21d20a4b','artifact.put',NULL,'both',1,1,'{"description":"Stores a file of a task at a path, in standard base64. What was at the path before is replaced.","input_schema":{"additionalProperties":false,"properties":{"content_bytes_base64":{"description":"The content, in standard base64.","type":"string"},"path":{"description":"A relative path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path","content_bytes_base64"],"type":"object"},"output_schema":{"properties":{"id":{},"path":{},"sha256":{},"size_bytes":{},"task_id":{}},"required":["id","task_id","path","size_bytes","sha256"],"type":"object"},"title":"Store a file of a task"}','b0668e0abfe91dd3104be023b90d2f9afc06f7fb2b27d1e9dab97022549b3068','{"description":"Stores a file of a task at a path, in standard base64. What was at the path before is replaced.","input_schema":{"additionalProperties":false,"properties":{"content_bytes_base64":{"description":"The content, in standard base64.","type":"string"},"path":{"description":"A relative path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path","content_bytes_base64"],"type":"object"},"output_schema":{"properties":{"id":{},"path":{},"sha256":{},"size_bytes":{},"task_id":{}},"required":["id","task_id","path","size_bytes","sha256"],"type":"object"},"title":"Store a file of a task"}','b0668e0abfe91dd3104be023b90d2f9afc06f7fb2b27d1e9dab97022549b3068',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd1-728b-9c34-9d8861c8ee48','db.job.get',NULL,'pm',1,1,'{"description":"A job: the step of a task it is, the node it ran on, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"job_id":{"description":"The id of the job.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["job_id"],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_id":{}},"required":["id","task_id","status"],"type":"object"},"title":"Get a job"}','c5598ebf28aa4b5dde879a7860ad9eeb94f3582179f7a4cd5c0bcb0695c48e8e','{"description":"A job: the step of a task it is, the node it ran on, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"job_id":{"description":"The id of the job.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["job_id"],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_id":{}},"required":["id","task_id","status"],"type":"object"},"title":"Get a job"}','c5598ebf28aa4b5dde879a7860ad9eeb94f3582179f7a4cd5c0bcb0695c48e8e',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd2-76c1-9153-116cc41c392f','db.job.list',NULL,'pm',1,1,'{"description":"Every job of a task, in the order they were made.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the jobs of a task"}','508aed636982be00f8a0c9291d743870c6c504e6b2ea685078d64f45b6bd5d64','{"description":"Every job of a task, in the order they were made.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the jobs of a task"}','508aed636982be00f8a0c9291d743870c6c504e6b2ea685078d64f45b6bd5d64',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd2-76c1-9153-116dd7853074','db.project.create',NULL,'pm',1,1,'{"description":"Makes a project; its slug comes from its name, numbered if taken.","input_schema":{"additionalProperties":false,"properties":{"description":{"description":"What it is about.","maxLength":65536,"type":"string"},"display_name":{"description":"The name people see.","maxLength":100,"minLength":1,"type":"string"}},"required":["display_name"],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Create a project"}','295722938aab27a9b18ec935118824fbf93e4423544106b562a5642e6388a554','{"description":"Makes a project; its slug comes from its name, numbered if taken.","input_schema":{"additionalProperties":false,"properties":{"description":{"description":"What it is about.","maxLength":65536,"type":"string"},"display_name":{"description":"The name people see.","maxLength":100,"minLength":1,"type":"string"}},"required":["display_name"],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Create a project"}','295722938aab27a9b18ec935118824fbf93e4423544106b562a5642e6388a554',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd3-7485-b475-b6894c2f5f3f','db.project.get',NULL,'pm',1,1,'{"description":"A project, by its id or by its slug: give one of both.","input_schema":{"additionalProperties":false,"oneOf":[{"required":["project_id"]},{"required":["slug"]}],"properties":{"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"slug":{"description":"The slug of the project.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Get a project"}','9cad8136c37aa87cf04bd6560fc3fd430bb9a4ea8a39bbf7d32fb1191e2bc629','{"description":"A project, by its id or by its slug: give one of both.","input_schema":{"additionalProperties":false,"oneOf":[{"required":["project_id"]},{"required":["slug"]}],"properties":{"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"slug":{"description":"The slug of the project.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Get a project"}','9cad8136c37aa87cf04bd6560fc3fd430bb9a4ea8a39bbf7d32fb1191e2bc629',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd3-7485-b475-b68ad7a5d868','db.project.list',NULL,'pm',1,1,'{"description":"Projects the user may see, newest first.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List projects"}','1a4ebd7ec1eb8fc13b3a74cb46250c33c388ab4db6bab3bc4d0485f6fe343921','{"description":"Projects the user may see, newest first.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List projects"}','1a4ebd7ec1eb8fc13b3a74cb46250c33c388ab4db6bab3bc4d0485f6fe343921',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd3-7485-b475-b68b6e636e08','db.system_setting.create',NULL,'pm',1,1,'{"description":"Makes a setting that does not exist yet. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Create a setting"}','c52244ed7d1b0c5a051cd965084e4410d9af03571e12aaa928af0171e25281e6','{"description":"Makes a setting that does not exist yet. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Create a setting"}','c52244ed7d1b0c5a051cd965084e4410d9af03571e12aaa928af0171e25281e6',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd4-75a7-bb7d-c8d1707c8ba9','db.system_setting.delete',NULL,'pm',1,1,'{"description":"Removes a setting; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"deleted":{},"key":{}},"required":["key","deleted"],"type":"object"},"title":"Delete a setting"}','d81a03ac00a764cd49f992edb1d4367545b7d599df34efc10a4ea16b6f3529e4','{"description":"Removes a setting; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"deleted":{},"key":{}},"required":["key","deleted"],"type":"object"},"title":"Delete a setting"}','d81a03ac00a764cd49f992edb1d4367545b7d599df34efc10a4ea16b6f3529e4',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fd8-75c6-852a-60425a95cbfb','db.system_setting.get',NULL,'pm',1,1,'{"description":"A setting of the installation.","input_schema":{"additionalProperties":false,"properties":{"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Get a setting"}','4e47b055c2b7f3d6b6f05cfc5254107ae0a65c7abba1106d6112fdc6a4faf8ca','{"description":"A setting of the installation.","input_schema":{"additionalProperties":false,"properties":{"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Get a setting"}','4e47b055c2b7f3d6b6f05cfc5254107ae0a65c7abba1106d6112fdc6a4faf8ca',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fe5-7474-8f61-accaa5257a4e','db.system_setting.list',NULL,'pm',1,1,'{"description":"Settings of the installation whose name begins with key_prefix, by name.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"key_prefix":{"description":"How names begin.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List settings"}','d7557c16674bc09e0962c3235f714ed94b882e33079d73b48a44ef13e1f5cfe1','{"description":"Settings of the installation whose name begins with key_prefix, by name.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"key_prefix":{"description":"How names begin.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List settings"}','d7557c16674bc09e0962c3235f714ed94b882e33079d73b48a44ef13e1f5cfe1',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fe6-7023-9ac6-6a876b5eeb48','db.system_setting.update',NULL,'pm',1,1,'{"description":"Gives a setting another value; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Change a setting"}','dfbf19a54017e599fc94bc93f78d260d665ca81f9f187783efc0ec5cf92abfe4','{"description":"Gives a setting another value; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Change a setting"}','dfbf19a54017e599fc94bc93f78d260d665ca81f9f187783efc0ec5cf92abfe4',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fe6-7023-9ac6-6a8808573ff8','db.task.cancel',NULL,'pm',1,1,'{"description":"Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"canceled":{},"cascaded":{},"task_id":{}},"required":["task_id","canceled","cascaded"],"type":"object"},"title":"Cancel a task"}','a4080cc966d6c7fb64c8d36a377080b93caed8d887f883af3c92c4f9ee08d2fb','{"description":"Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"canceled":{},"cascaded":{},"task_id":{}},"required":["task_id","canceled","cascaded"],"type":"object"},"title":"Cancel a task"}','a4080cc966d6c7fb64c8d36a377080b93caed8d887f883af3c92c4f9ee08d2fb',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fe7-76e3-8e3b-2dcd551edd2c','db.task.create',NULL,'pm',1,1,'{"description":"Creates a task and the run that carries it out. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.","input_schema":{"additionalProperties":false,"properties":{"acceptance_criteria":{"maxItems":100,"type":"array"},"commands":{"items":{"type":"string"},"maxItems":200,"type":"array"},"depends_on":{"items":{"type":"string"},"maxItems":100,"type":"array"},"expected_outputs":{"items":{"type":"string"},"maxItems":100,"type":"array"},"idempotency_key":{"description":"Two calls with the same key create one task.","maxLength":200,"minLength":1,"type":"string"},"input_mode":{"description":"prompt when absent.","enum":["prompt","script","commands"]},"max_attempts":{"maximum":10,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"prompt":{"description":"The request in prose, or the text of the script.","maxLength":1000000,"minLength":1,"type":"string"},"task_name":{"description":"A name for the task; made from the request when absent.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_name":{}},"required":["id","task_name","status"],"type":"object"},"title":"Create a task"}','db985c5f0e1a017589e49a73a13a7af155190eba43b2f23130db33a2dc374062','{"description":"Creates a task and the run that carries it out. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.","input_schema":{"additionalProperties":false,"properties":{"acceptance_criteria":{"maxItems":100,"type":"array"},"commands":{"items":{"type":"string"},"maxItems":200,"type":"array"},"depends_on":{"items":{"type":"string"},"maxItems":100,"type":"array"},"expected_outputs":{"items":{"type":"string"},"maxItems":100,"type":"array"},"idempotency_key":{"description":"Two calls with the same key create one task.","maxLength":200,"minLength":1,"type":"string"},"input_mode":{"description":"prompt when absent.","enum":["prompt","script","commands"]},"max_attempts":{"maximum":10,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"prompt":{"description":"The request in prose, or the text of the script.","maxLength":1000000,"minLength":1,"type":"string"},"task_name":{"description":"A name for the task; made from the request when absent.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_name":{}},"required":["id","task_name","status"],"type":"object"},"title":"Create a task"}','db985c5f0e1a017589e49a73a13a7af155190eba43b2f23130db33a2dc374062',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2fe8-72c5-a155-80bf2f1cdad7','db.task.get',NULL,'pm',1,1,'{"description":"A task: what was asked for, where it stands, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"closed":{},"id":{},"status":{},"task_name":{}},"required":["id","task_name","status","closed"],"type":"object"},"title":"Get a task"}','470832fba463e9c2450819490995ffc62f08ab9d6dfda6c4bb6bd33592466caa','{"description":"A task: what was asked for, where it stands, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"closed":{},"id":{},"status":{},"task_name":{}},"required":["id","task_name","status","closed"],"type":"object"},"title":"Get a task"}','470832fba463e9c2450819490995ffc62f08ab9d6dfda6c4bb6bd33592466caa',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2ff8-76d8-8415-a82488b1233d','db.task.list',NULL,'pm',1,1,'{"description":"Tasks of the user, newest first; of one project where the caller is bound to one.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"status":{"enum":["queued","running","completed","failed","canceled","superseded"]}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List tasks"}','73bb6ff61c05012e4f406e9e2f28bdbb1fb2b50efe041d1a2899e071ac85debf','{"description":"Tasks of the user, newest first; of one project where the caller is bound to one.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"status":{"enum":["queued","running","completed","failed","canceled","superseded"]}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List tasks"}','73bb6ff61c05012e4f406e9e2f28bdbb1fb2b50efe041d1a2899e071ac85debf',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2ff9-7709-bdfa-6ebed8f11490','db.task.logs',NULL,'pm',1,1,'{"description":"The output of every job of a task so far, in the order the jobs ran.","input_schema":{"additionalProperties":false,"properties":{"stream":{"description":"Which stream; all when absent.","enum":["stdout","stderr","all"]},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"stderr":{},"stdout":{},"task_id":{}},"required":["task_id","stdout","stderr"],"type":"object"},"title":"Get the output of a task"}','d5ed4231c88fea86ea41be1c6a917c0254c0af13a7dd9e6a4024427b750ca809','{"description":"The output of every job of a task so far, in the order the jobs ran.","input_schema":{"additionalProperties":false,"properties":{"stream":{"description":"Which stream; all when absent.","enum":["stdout","stderr","all"]},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"stderr":{},"stdout":{},"task_id":{}},"required":["task_id","stdout","stderr"],"type":"object"},"title":"Get the output of a task"}','d5ed4231c88fea86ea41be1c6a917c0254c0af13a7dd9e6a4024427b750ca809',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2ff9-7709-bdfa-6ebf9c679705','db.task.result',NULL,'pm',1,1,'{"description":"What came of a task, job by job, with exit codes and kept output.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"jobs":{},"status":{},"task_id":{}},"required":["task_id","status","jobs"],"type":"object"},"title":"Get the result of a task"}','23a561cf3f1746b6cf9e97ebff7380ea24dcd65a8317a1bd3c3bce96a65aea5f','{"description":"What came of a task, job by job, with exit codes and kept output.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"jobs":{},"status":{},"task_id":{}},"required":["task_id","status","jobs"],"type":"object"},"title":"Get the result of a task"}','23a561cf3f1746b6cf9e97ebff7380ea24dcd65a8317a1bd3c3bce96a65aea5f',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2ffa-7362-8e3b-ee44f281b611','node.get',NULL,'pm',1,1,'{"description":"A worker node, by its slug.","input_schema":{"additionalProperties":false,"properties":{"node_slug":{"description":"The name of the node.","maxLength":200,"minLength":1,"type":"string"}},"required":["node_slug"],"type":"object"},"output_schema":{"properties":{"id":{},"node_slug":{},"status":{}},"required":["id","node_slug","status"],"type":"object"},"title":"Get a worker node"}','e8681872419956b7f1fccac537cf491e9d1dd3f056d0417e47dc26fe5deda6ac','{"description":"A worker node, by its slug.","input_schema":{"additionalProperties":false,"properties":{"node_slug":{"description":"The name of the node.","maxLength":200,"minLength":1,"type":"string"}},"required":["node_slug"],"type":"object"},"output_schema":{"properties":{"id":{},"node_slug":{},"status":{}},"required":["id","node_slug","status"],"type":"object"},"title":"Get a worker node"}','e8681872419956b7f1fccac537cf491e9d1dd3f056d0417e47dc26fe5deda6ac',1794736271295128,1794736271295128);
INSERT INTO mcp_tools VALUES('01a1de9e-2ffa-7362-8e3b-ee45cb287bbd','node.list',NULL,'pm',1,1,'{"description":"Every worker node with its capabilities, load and last sign of life.","input_schema":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List worker nodes"}','b6fa6798749832a72e5206acbe701461fe3cd2c4c1aa9cdd716685c1ac66fafa','{"description":"Every worker node with its capabilities, load and last sign of life.","input_schema":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List worker nodes"}','b6fa6798749832a72e5206acbe701461fe3cd2c4c1aa9cdd716685c1ac66fafa',1794736271295128,1794736271295128);
CREATE TABLE access_control_rules (
    id TEXT PRIMARY KEY,
    subject_type TEXT NOT NULL,
    -- An id, or the type of an agent; null for system only.
    subject_id TEXT,
    action TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_pattern TEXT NOT NULL,
    effect TEXT NOT NULL,
    priority INTEGER NOT NULL,
    conditions TEXT NOT NULL,
    updated_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((subject_type = 'system') = (subject_id IS NULL))
);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78016a86f10','agent','pm','mcp.tool.invoke','mcp.tool','db.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7816e1b5664','agent','pm','mcp.tool.invoke','mcp.tool','artifact.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f782bcd9fceb','agent','pm','mcp.tool.invoke','mcp.tool','node.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7835d374082','agent','pm','mcp.tool.invoke','mcp.tool','sandbox.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f784eb371c28','agent','pm','mcp.tool.invoke','mcp.tool','model.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7855b9e1cd8','agent','pm','mcp.tool.invoke','mcp.tool','help.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f786778db443','agent','pm','mcp.tool.invoke','mcp.tool','skills.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f787831dbf79','agent','pm','mcp.tool.invoke','mcp.tool','persona.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7881e3b5879','agent','pm','mcp.tool.invoke','mcp.tool','persona.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78961dd8f13','agent','pm','mcp.tool.invoke','mcp.tool','pm.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78ad02e9d94','agent','pm','mcp.tool.invoke','mcp.tool','apmas_*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78b70940063','agent','pa','mcp.tool.invoke','mcp.tool','db.*.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78c0492bfaf','agent','pa','mcp.tool.invoke','mcp.tool','db.*.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78de7fc2934','agent','pa','mcp.tool.invoke','mcp.tool','db.*.effective','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78e6d85353f','agent','pa','mcp.tool.invoke','mcp.tool','db.task.result','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f78f7df81713','agent','pa','mcp.tool.invoke','mcp.tool','db.task.logs','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7903996bd8b','agent','pa','mcp.tool.invoke','mcp.tool','db.finding.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7914b9ac74e','agent','pa','mcp.tool.invoke','mcp.tool','artifact.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f792d4ff7ca8','agent','pa','mcp.tool.invoke','mcp.tool','artifact.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7938fb253db','agent','pa','mcp.tool.invoke','mcp.tool','help.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f794754665a5','agent','pa','mcp.tool.invoke','mcp.tool','skills.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f795027cd666','agent','pa','mcp.tool.invoke','mcp.tool','skills.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f796c1d5ed03','agent','pa','mcp.tool.invoke','mcp.tool','skills.create','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7975baf84a7','agent','pa','mcp.tool.invoke','mcp.tool','skills.update','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f798a7dd1d3b','agent','pa','mcp.tool.invoke','mcp.tool','skills.delete','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f799f41fa55c','agent','pa','mcp.tool.invoke','mcp.tool','persona.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79a501537df','agent','pa','mcp.tool.invoke','mcp.tool','persona.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79b29edf054','agent','pa','mcp.tool.invoke','mcp.tool','apmas_report_to_pm','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79c34ae8918','agent','pa','mcp.tool.invoke','mcp.tool','apmas_get_context','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79dfcc45852','agent','sandbox','mcp.tool.invoke','mcp.tool','artifact.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79ee6f99ad8','agent','sandbox','mcp.tool.invoke','mcp.tool','memory.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f79f1f7d1384','agent','sandbox','mcp.tool.invoke','mcp.tool','help.*','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc5-7445-ad4c-f7a0fa979663','agent','sandbox','mcp.tool.invoke','mcp.tool','skills.list','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bc9d2bb6865f','agent','sandbox','mcp.tool.invoke','mcp.tool','skills.get','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bc9ed74ed13d','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_report_to_pm','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bc9f997410c7','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_report_status','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca02e0227e7','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_get_context','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca14ef23a92','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_request_help','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca272e3197b','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_submit_work','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca358e1c5ae','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_complete','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca4f705e95d','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_checkpoint','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca57a5225cd','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_heartbeat','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca664fef2f0','agent','sandbox','mcp.tool.invoke','mcp.tool','apmas_send_message','allow',0,'{}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca7b255bed1','system',NULL,'mcp.tool.invoke','mcp.tool','db.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca8f2c6d70f','system',NULL,'mcp.tool.invoke','mcp.tool','artifact.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bca9f07ead8a','system',NULL,'mcp.tool.invoke','mcp.tool','node.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcaa3e9ecf6f','system',NULL,'mcp.tool.invoke','mcp.tool','sandbox.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcab193510df','system',NULL,'mcp.tool.invoke','mcp.tool','model.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcac40cf4fef','system',NULL,'mcp.tool.invoke','mcp.tool','help.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcad1ffa92a8','system',NULL,'mcp.tool.invoke','mcp.tool','skills.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcae79fe96cb','system',NULL,'mcp.tool.invoke','mcp.tool','persona.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcaf11fdb6f3','system',NULL,'mcp.tool.invoke','mcp.tool','pm.*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
INSERT INTO access_control_rules VALUES('01a1de9e-2fc6-7065-8be0-bcb0af1aac88','system',NULL,'mcp.tool.invoke','mcp.tool','apmas_*','allow',0,'{"callers":["user"]}',NULL,1794736271295128,1794736271295128);
CREATE TABLE access_control_audit_log (
    id TEXT PRIMARY KEY,
    subject_type TEXT NOT NULL,
    subject_id TEXT,
    action TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource TEXT NOT NULL,
    decision TEXT NOT NULL,
    reason TEXT,
    task_id TEXT,
    created_at INTEGER NOT NULL
);
CREATE TABLE system_settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    value_type TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT
);
INSERT INTO system_settings VALUES('access.rules.seeded','true','boolean',1,1794736271295128,NULL);
CREATE TABLE system_settings_audit_log (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT,
    changed_by TEXT,
    changed_at INTEGER NOT NULL,
    reason TEXT
);
CREATE TABLE policy_revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
);
INSERT INTO policy_revision VALUES(1,2);
CREATE TABLE mcp_audit_chains (
    chain_id TEXT PRIMARY KEY,
    -- The newest record.
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    -- No call before this one is without an outcome.
    open_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);
INSERT INTO mcp_audit_chains VALUES('01a1de9e-2dc9-76a6-9057-fa17b42f4779',0,X'ce6db6d15d1019dc8a66393b0c2f638c7fd3342986f5f11e189ede988a434612',1,1794736270793630);
CREATE TABLE mcp_audit_anchors (
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, seq)
);
CREATE TABLE mcp_tool_call_audit_log (
    id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    agent_type TEXT NOT NULL,
    token_id TEXT,
    user_id TEXT,
    group_ids TEXT NOT NULL,
    role_names TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    tool_name TEXT NOT NULL,
    server TEXT NOT NULL,
    decision TEXT NOT NULL,
    stage TEXT NOT NULL,
    -- As decided; what came of a call is in mcp_tool_call_outcomes.
    status TEXT NOT NULL,
    error_type TEXT,
    duration_ms INTEGER,
    origin TEXT NOT NULL,
    request_id TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (chain_id, seq)
);
CREATE TABLE mcp_tool_call_outcomes (
    call_id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    error_type TEXT,
    duration_ms INTEGER,
    recorded_at INTEGER NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (chain_id, seq)
);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('events',59);
CREATE INDEX refresh_sessions_by_user ON refresh_sessions (user_id);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);
CREATE UNIQUE INDEX projects_one_default ON projects (owner_id) WHERE is_default;
CREATE INDEX projects_by_owner ON projects (owner_id, id);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_project ON tasks (project_id, id);
CREATE INDEX tasks_open ON tasks (status) WHERE NOT closed;
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on_task_id);
CREATE INDEX runs_by_task ON runs (task_id, id);
CREATE INDEX runs_runnable ON runs (id) WHERE runnable;
CREATE INDEX workflow_checkpoints_by_time ON workflow_checkpoints (updated_at);
CREATE INDEX jobs_by_task ON jobs (task_id, id);
CREATE INDEX jobs_open ON jobs (node_id, id) WHERE NOT closed;
CREATE INDEX events_in_order ON events (txid, seq);
CREATE INDEX events_by_task ON events (task_id, txid, seq);
CREATE INDEX agent_tokens_by_user ON agent_tokens (user_id, id);
CREATE INDEX agent_tokens_by_job ON agent_tokens (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX agent_tokens_by_end ON agent_tokens (expires_at);
CREATE INDEX mcp_tools_by_server ON mcp_tools (server_id);
CREATE INDEX mcp_calls_by_time ON mcp_tool_call_audit_log (created_at, id);
CREATE INDEX mcp_calls_by_task ON mcp_tool_call_audit_log (task_id, created_at, id)
    WHERE task_id IS NOT NULL;
CREATE INDEX mcp_calls_by_project ON mcp_tool_call_audit_log (project_id, created_at, id)
    WHERE project_id IS NOT NULL;
CREATE INDEX mcp_calls_by_user ON mcp_tool_call_audit_log (user_id, created_at, id)
    WHERE user_id IS NOT NULL;
CREATE INDEX mcp_calls_by_tool ON mcp_tool_call_audit_log (tool_name, created_at, id);
CREATE VIEW committed_events AS SELECT * FROM events;
COMMIT;
