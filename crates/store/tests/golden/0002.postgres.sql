SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.cynode_after(milliseconds bigint) RETURNS timestamp with time zone
    LANGUAGE sql
    AS $$SELECT clock_timestamp() + milliseconds * interval '1 millisecond'$$;
CREATE FUNCTION public.cynode_now() RETURNS timestamp with time zone
    LANGUAGE sql
    AS $$SELECT clock_timestamp()$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.access_control_audit_log (
    id uuid NOT NULL,
    subject_type text NOT NULL,
    subject_id text,
    action text NOT NULL,
    resource_type text NOT NULL,
    resource text NOT NULL,
    decision text NOT NULL,
    reason text,
    task_id uuid,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.access_control_rules (
    id uuid NOT NULL,
    subject_type text NOT NULL,
    subject_id text,
    action text NOT NULL,
    resource_type text NOT NULL,
    resource_pattern text NOT NULL,
    effect text NOT NULL,
    priority bigint NOT NULL,
    conditions json NOT NULL,
    updated_by uuid,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT access_control_rules_check CHECK (((subject_type = 'system'::text) = (subject_id IS NULL)))
);
CREATE TABLE public.agent_tokens (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    agent_type text NOT NULL,
    user_id uuid NOT NULL,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    session_id uuid,
    name text NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone
);
CREATE TABLE public.api_tokens (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone
);
CREATE TABLE public.auth_audit_log (
    id uuid NOT NULL,
    event_type text NOT NULL,
    user_id uuid,
    subject_handle text,
    success boolean NOT NULL,
    ip_address text,
    reason text,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.events (
    txid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    owner_id uuid,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    data json NOT NULL,
    occurred_at timestamp with time zone NOT NULL
);
CREATE VIEW public.committed_events AS
 SELECT events.txid,
    events.seq,
    events.kind,
    events.owner_id,
    events.project_id,
    events.task_id,
    events.run_id,
    events.job_id,
    events.data,
    events.occurred_at
   FROM public.events
  WHERE (events.txid < ((pg_snapshot_xmin(pg_current_snapshot()))::text)::bigint);
ALTER TABLE public.events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.job_logs (
    job_id uuid NOT NULL,
    stream text NOT NULL,
    start_offset bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.jobs (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    run_id uuid NOT NULL,
    step_index bigint NOT NULL,
    attempt bigint NOT NULL,
    status text NOT NULL,
    closed boolean NOT NULL,
    node_id uuid,
    pinned_node_id uuid,
    payload json NOT NULL,
    result json,
    cancel_requested boolean NOT NULL,
    acknowledged boolean NOT NULL,
    lease_expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone
);
CREATE TABLE public.mcp_audit_anchors (
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.mcp_audit_chains (
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    open_from bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.mcp_servers (
    id uuid NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    owner_id uuid NOT NULL,
    transport text NOT NULL,
    config json NOT NULL,
    scope text NOT NULL,
    enabled boolean NOT NULL,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.mcp_tool_call_audit_log (
    id uuid NOT NULL,
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    agent_type text NOT NULL,
    token_id uuid,
    user_id uuid,
    group_ids json NOT NULL,
    role_names json NOT NULL,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    tool_name text NOT NULL COLLATE pg_catalog."C",
    server text NOT NULL,
    decision text NOT NULL,
    stage text NOT NULL,
    status text NOT NULL,
    error_type text,
    duration_ms bigint,
    origin text NOT NULL,
    request_id text NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE public.mcp_tool_call_outcomes (
    call_id uuid NOT NULL,
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    status text NOT NULL,
    error_type text,
    duration_ms bigint,
    recorded_at timestamp with time zone NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE public.mcp_tools (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    server_id uuid,
    scope text NOT NULL,
    enabled boolean NOT NULL,
    present boolean NOT NULL,
    definition json NOT NULL,
    definition_sha256 text NOT NULL,
    approved_definition json NOT NULL,
    approved_sha256 text NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.nodes (
    id uuid NOT NULL,
    node_slug text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    token_hash bytea NOT NULL,
    capabilities json NOT NULL,
    sandbox_supported boolean NOT NULL,
    max_concurrency bigint NOT NULL,
    last_seen_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.password_credentials (
    user_id uuid NOT NULL,
    password_hash text NOT NULL,
    hash_alg text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.policy_revision (
    id bigint NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT policy_revision_id_check CHECK ((id = 1))
);
CREATE TABLE public.projects (
    id uuid NOT NULL,
    slug text NOT NULL,
    display_name text NOT NULL,
    description text NOT NULL,
    owner_id uuid NOT NULL,
    is_default boolean NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.refresh_sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    refresh_token_hash bytea NOT NULL,
    access_token_hash bytea NOT NULL,
    access_expires_at timestamp with time zone NOT NULL,
    is_active boolean NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL
);
CREATE TABLE public.runs (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    trace_id uuid NOT NULL,
    status text NOT NULL,
    runnable boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone
);
CREATE TABLE public.schema_version (
    version bigint NOT NULL
);
CREATE TABLE public.spent_refresh_tokens (
    refresh_token_hash bytea NOT NULL,
    session_id uuid NOT NULL,
    spent_at timestamp with time zone NOT NULL
);
CREATE TABLE public.system_settings (
    key text NOT NULL COLLATE pg_catalog."C",
    value json NOT NULL,
    value_type text NOT NULL,
    version bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by uuid
);
CREATE TABLE public.system_settings_audit_log (
    id uuid NOT NULL,
    key text NOT NULL,
    old_value json,
    new_value json,
    changed_by uuid,
    changed_at timestamp with time zone NOT NULL,
    reason text
);
CREATE TABLE public.task_artifacts (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    job_id uuid,
    kind text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    size_bytes bigint NOT NULL,
    checksum_sha256 text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.task_dependencies (
    task_id uuid NOT NULL,
    depends_on_task_id uuid NOT NULL,
    CONSTRAINT task_dependencies_check CHECK ((task_id <> depends_on_task_id))
);
CREATE TABLE public.task_workflow_leases (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    run_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    holder_id uuid,
    epoch bigint NOT NULL,
    expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.tasks (
    id uuid NOT NULL,
    created_by uuid NOT NULL,
    project_id uuid NOT NULL,
    plan_id uuid,
    name text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL,
    closed boolean NOT NULL,
    input_mode text NOT NULL,
    prompt text NOT NULL,
    commands json NOT NULL,
    acceptance_criteria json NOT NULL,
    options json NOT NULL,
    summary text,
    idempotency_key text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone
);
CREATE TABLE public.users (
    id uuid NOT NULL,
    handle text NOT NULL,
    is_admin boolean NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.workflow_checkpoints (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    run_id uuid NOT NULL,
    state json NOT NULL,
    last_node_id text NOT NULL,
    edge text NOT NULL,
    sequence bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE public.workflow_effects (
    run_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    answer json NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.workflow_history (
    run_id uuid NOT NULL,
    sequence bigint NOT NULL,
    task_id uuid NOT NULL,
    node_id text NOT NULL,
    edge text NOT NULL,
    step_index bigint,
    job_id uuid,
    state json NOT NULL,
    epoch bigint NOT NULL,
    duration_ms bigint NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b786-7028-8d5a-b2044fb6c1d5', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'db.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b787-7011-ad4d-6dcde54d5b89', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'artifact.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b787-7011-ad4d-6dce4404aef0', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'node.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b787-7011-ad4d-6dcfd2facc1d', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'sandbox.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b787-7011-ad4d-6dd06c789cc5', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'model.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b787-7011-ad4d-6dd102f70a6d', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'help.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7f7e089caf1', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'skills.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7f894be0bbd', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'persona.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7f9eddb0110', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'persona.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7fafd956284', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'pm.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7fb887a2bb0', 'agent', 'pm', 'mcp.tool.invoke', 'mcp.tool', 'apmas_*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7fc28ce3396', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.*.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b788-74e5-bcbc-d7fd2b6f74e4', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.*.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b789-73e7-965b-584e6ff5df72', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.*.effective', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b789-73e7-965b-584f3f1b826a', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.task.result', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b789-73e7-965b-585073c41e46', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.task.logs', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b789-73e7-965b-585134629327', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'db.finding.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78b-767e-83e8-612435e37e01', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'artifact.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78b-767e-83e8-612541ff3ee7', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'artifact.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78b-767e-83e8-612686264a4e', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'help.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78b-767e-83e8-6127bafd1024', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'skills.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26ab63c2e93c', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'skills.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26ac34839b85', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'skills.create', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26ad6b309c30', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'skills.update', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26ae1a8ca1ea', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'skills.delete', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26af77593adf', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'persona.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26b066665353', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'persona.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26b130d074a5', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'apmas_report_to_pm', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26b28feca6cd', 'agent', 'pa', 'mcp.tool.invoke', 'mcp.tool', 'apmas_get_context', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26b3dc89a9ae', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'artifact.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78c-73f1-9343-26b441fc077e', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'memory.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b78d-7068-a564-302782a5f275', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'help.*', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b790-77f4-b0ba-11a9de3ace82', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'skills.list', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b790-77f4-b0ba-11aa39b2b99b', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'skills.get', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b798-754f-bcec-56e99f2c1c2d', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_report_to_pm', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a1-7536-9c10-dd6d66da96e2', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_report_status', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a1-7536-9c10-dd6e2b385df6', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_get_context', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a1-7536-9c10-dd6f6361b498', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_request_help', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a1-7536-9c10-dd7063f3e419', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_submit_work', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a1-7536-9c10-dd71000e09d3', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_complete', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a2-7520-92d6-240d89757831', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_checkpoint', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a2-7520-92d6-240eba969add', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_heartbeat', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a2-7520-92d6-240f7051d864', 'agent', 'sandbox', 'mcp.tool.invoke', 'mcp.tool', 'apmas_send_message', 'allow', 0, '{}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a2-7520-92d6-241005d23f1f', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'db.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a2-7520-92d6-241167569826', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'artifact.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7a8-73cb-9867-70d33df67504', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'node.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ece6ca921011', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'sandbox.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ece7bb1aef14', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'model.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ece8cfa9747d', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'help.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ece9c2ccd331', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'skills.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ecea7b062da7', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'persona.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-eceb200b4d25', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'pm.*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.access_control_rules VALUES ('01a1de9e-b7aa-7392-8ae3-ecececbbb98d', 'system', NULL, 'mcp.tool.invoke', 'mcp.tool', 'apmas_*', 'allow', 0, '{"callers":["user"]}', NULL, '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.api_tokens VALUES ('01a1de9e-b70a-7626-b642-bd509c36330b', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', 'first run', '\xc596eb026328426e6f56a9357c321a6ce8e53249f07e2256cbddcb5fad31a4d9', '2026-11-15 09:51:45.930782+00', NULL, NULL);
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (732, 1, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', NULL, NULL, '{"name":"done"}', '2026-11-15 09:51:48.29814+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (733, 2, 'task.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', NULL, NULL, '{"run_id":"01a1de9e-c047-70fd-ae97-63b6e027d431"}', '2026-11-15 09:51:48.321255+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (735, 3, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', NULL, '{"duration_ms":48,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}', '2026-11-15 09:51:48.442735+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (736, 4, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', NULL, '{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}', '2026-11-15 09:51:48.507381+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (737, 5, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"attempt":1,"step_index":0}', '2026-11-15 09:51:48.534724+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (738, 6, 'job.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"attempt":1,"node_id":"01a1de9e-ba32-7280-be88-0e76dbec7175","step_index":0}', '2026-11-15 09:51:48.541511+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (741, 7, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"duration_ms":46,"edge":"dispatched","job_id":"01a1de9e-c134-777a-8dee-170559c0701b","node":"dispatch_step","sequence":3,"step_index":0}', '2026-11-15 09:51:48.578+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (745, 8, 'job.ended', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":0}', '2026-11-15 09:51:48.832832+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (748, 9, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"duration_ms":262,"edge":"collected","job_id":"01a1de9e-c134-777a-8dee-170559c0701b","node":"collect_result","sequence":4,"step_index":0}', '2026-11-15 09:51:48.869424+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (747, 10, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', NULL, NULL, '{"name":"broken"}', '2026-11-15 09:51:48.879644+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (751, 11, 'task.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', NULL, NULL, '{"run_id":"01a1de9e-c282-70b3-a68e-a33257459056"}', '2026-11-15 09:51:48.899338+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (754, 12, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', NULL, '{"duration_ms":22,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}', '2026-11-15 09:51:48.947745+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (753, 13, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c134-777a-8dee-170559c0701b', '{"duration_ms":55,"edge":"next_step","job_id":"01a1de9e-c134-777a-8dee-170559c0701b","node":"verify_step_result","sequence":5,"step_index":0}', '2026-11-15 09:51:48.952871+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (755, 14, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"attempt":1,"step_index":1}', '2026-11-15 09:51:48.968398+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (756, 15, 'job.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"attempt":1,"node_id":"01a1de9e-ba32-7280-be88-0e76dbec7175","step_index":1}', '2026-11-15 09:51:48.983525+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (759, 16, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"duration_ms":26,"edge":"dispatched","job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","node":"dispatch_step","sequence":6,"step_index":1}', '2026-11-15 09:51:49.015009+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (758, 17, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', NULL, '{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}', '2026-11-15 09:51:49.016706+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (761, 18, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"attempt":1,"step_index":0}', '2026-11-15 09:51:49.047696+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (762, 19, 'job.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"attempt":1,"node_id":"01a1de9e-ba32-7280-be88-0e76dbec7175","step_index":0}', '2026-11-15 09:51:49.0762+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (764, 20, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"duration_ms":55,"edge":"dispatched","job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","node":"dispatch_step","sequence":3,"step_index":0}', '2026-11-15 09:51:49.098004+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (769, 21, 'job.ended', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":1}', '2026-11-15 09:51:49.242309+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (772, 22, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"duration_ms":230,"edge":"collected","job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","node":"collect_result","sequence":7,"step_index":1}', '2026-11-15 09:51:49.315948+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (776, 23, 'job.ended', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"attempt":1,"ending":{"code":3,"kind":"exited"},"status":"completed","step_index":0}', '2026-11-15 09:51:49.413891+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (777, 24, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"duration_ms":73,"edge":"all_verified","job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","node":"verify_step_result","sequence":8,"step_index":1}', '2026-11-15 09:51:49.453318+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (779, 25, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"duration_ms":325,"edge":"collected","job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","node":"collect_result","sequence":4,"step_index":0}', '2026-11-15 09:51:49.454122+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (781, 26, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', NULL, '{"duration_ms":0,"edge":"finished","job_id":null,"node":"finalize_summary","sequence":9,"step_index":null}', '2026-11-15 09:51:49.490579+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (781, 27, 'task.closed', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', NULL, '{"status":"completed","summary":"2 steps verified; the last command exited with code 0."}', '2026-11-15 09:51:49.493788+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (784, 28, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"duration_ms":99,"edge":"no_retry_left","job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","node":"verify_step_result","sequence":5,"step_index":0}', '2026-11-15 09:51:49.594151+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (785, 29, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"duration_ms":0,"edge":"finished","job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","node":"mark_failed","sequence":6,"step_index":0}', '2026-11-15 09:51:49.606883+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (785, 30, 'task.closed', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', NULL, '{"status":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."}', '2026-11-15 09:51:49.6093+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (788, 31, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', NULL, NULL, '{"name":"stopped"}', '2026-11-15 09:51:50.707021+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (789, 32, 'task.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', NULL, NULL, '{"run_id":"01a1de9e-c9b1-77e8-9444-69ffc8543c3c"}', '2026-11-15 09:51:50.741064+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (790, 33, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', NULL, '{"duration_ms":4,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}', '2026-11-15 09:51:50.799805+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (791, 34, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', NULL, '{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}', '2026-11-15 09:51:50.814639+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (792, 35, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '{"attempt":1,"step_index":0}', '2026-11-15 09:51:50.828097+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (795, 36, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '{"duration_ms":20,"edge":"dispatched","job_id":"01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b","node":"dispatch_step","sequence":3,"step_index":0}', '2026-11-15 09:51:50.847352+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (798, 38, 'task.closed', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', NULL, NULL, '{"status":"canceled","summary":"canceled by admin"}', '2026-11-15 09:51:51.797199+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (802, 40, 'task.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', NULL, NULL, '{"run_id":"01a1de9e-ce5d-716f-a39b-93f27d9cb216"}', '2026-11-15 09:51:51.917897+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (804, 42, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', NULL, '{"duration_ms":15,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}', '2026-11-15 09:51:51.964133+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (808, 45, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"duration_ms":43,"edge":"dispatched","job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","node":"dispatch_step","sequence":3,"step_index":0}', '2026-11-15 09:51:52.031443+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (817, 47, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', NULL, NULL, '{"name":"dispatched"}', '2026-11-15 09:51:53.571375+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (826, 53, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d74a-76c7-9eba-e66e68bcb863', NULL, NULL, '{"name":"behind"}', '2026-11-15 09:51:54.208774+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (836, 57, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-d801-71ab-83f4-4c4123a56a0e', '{"attempt":1,"step_index":1}', '2026-11-15 09:51:54.370724+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (839, 58, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-d801-71ab-83f4-4c4123a56a0e', '{"duration_ms":34,"edge":"dispatched","job_id":"01a1de9e-d801-71ab-83f4-4c4123a56a0e","node":"dispatch_step","sequence":6,"step_index":1}', '2026-11-15 09:51:54.405133+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (793, 37, 'job.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '{"attempt":1,"node_id":"01a1de9e-ba32-7280-be88-0e76dbec7175","step_index":0}', '2026-11-15 09:51:50.847678+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (806, 44, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"attempt":1,"step_index":0}', '2026-11-15 09:51:51.990271+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (818, 48, 'task.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', NULL, NULL, '{"run_id":"01a1de9e-d4d8-7552-bc18-08d177010c95"}', '2026-11-15 09:51:53.595218+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (820, 49, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', NULL, '{"duration_ms":12,"edge":"loaded","job_id":null,"node":"load_task_context","sequence":1,"step_index":null}', '2026-11-15 09:51:53.649107+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (828, 54, 'job.ended', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"attempt":1,"ending":{"code":0,"kind":"exited"},"status":"completed","step_index":0}', '2026-11-15 09:51:54.250179+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (830, 55, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"duration_ms":2238,"edge":"collected","job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","node":"collect_result","sequence":4,"step_index":0}', '2026-11-15 09:51:54.305062+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (834, 56, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"duration_ms":24,"edge":"next_step","job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","node":"verify_step_result","sequence":5,"step_index":0}', '2026-11-15 09:51:54.353549+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (854, 59, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-e761-74d5-9934-ac4330058fc3', NULL, NULL, '{"name":"waiting"}', '2026-11-15 09:51:58.30925+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (801, 39, 'task.created', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', NULL, NULL, '{"name":"half"}', '2026-11-15 09:51:51.902853+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (803, 41, 'job.ended', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '{"attempt":1,"ending":{"kind":"canceled"},"status":"canceled","step_index":0}', '2026-11-15 09:51:51.930337+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (805, 43, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', NULL, '{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}', '2026-11-15 09:51:51.975333+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (809, 46, 'job.started', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"attempt":1,"node_id":"01a1de9e-ba32-7280-be88-0e76dbec7175","step_index":0}', '2026-11-15 09:51:52.091803+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (821, 50, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', NULL, '{"duration_ms":0,"edge":"first_step","job_id":null,"node":"plan_steps","sequence":2,"step_index":null}', '2026-11-15 09:51:53.714337+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (822, 51, 'job.queued', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', '01a1de9e-d589-7775-84c7-e83fd4b4bc35', '{"attempt":1,"step_index":0}', '2026-11-15 09:51:53.738794+00');
INSERT INTO public.events OVERRIDING SYSTEM VALUE VALUES (825, 52, 'workflow.transition', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', '01a1de9e-d589-7775-84c7-e83fd4b4bc35', '{"duration_ms":38,"edge":"dispatched","job_id":"01a1de9e-d589-7775-84c7-e83fd4b4bc35","node":"dispatch_step","sequence":3,"step_index":0}', '2026-11-15 09:51:53.779017+00');
INSERT INTO public.job_logs VALUES ('01a1de9e-c134-777a-8dee-170559c0701b', 'stdout', 0, '\x72616e0a');
INSERT INTO public.job_logs VALUES ('01a1de9e-c2e6-71c1-9305-76d476bc4700', 'stdout', 0, '\x616761696e0a');
INSERT INTO public.job_logs VALUES ('01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', 'stdout', 0, '\x6f6e650a');
INSERT INTO public.jobs VALUES ('01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', 0, 1, 'completed', true, '01a1de9e-ba32-7280-be88-0e76dbec7175', NULL, '{"action":{"kind":"command","line":"echo one; sleep 2"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', '{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"one\n","truncated":{"stderr":false,"stdout":false}}', false, true, NULL, '2026-11-15 09:51:51.986447+00', '2026-11-15 09:51:52.089579+00', '2026-11-15 09:51:54.249633+00');
INSERT INTO public.jobs VALUES ('01a1de9e-c134-777a-8dee-170559c0701b', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', 0, 1, 'completed', true, '01a1de9e-ba32-7280-be88-0e76dbec7175', NULL, '{"action":{"kind":"command","line":"echo ran"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', '{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"ran\n","truncated":{"stderr":false,"stdout":false}}', false, true, NULL, '2026-11-15 09:51:48.533222+00', '2026-11-15 09:51:48.540416+00', '2026-11-15 09:51:48.827983+00');
INSERT INTO public.jobs VALUES ('01a1de9e-d801-71ab-83f4-4c4123a56a0e', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', 1, 1, 'queued', false, NULL, '01a1de9e-ba32-7280-be88-0e76dbec7175', '{"action":{"kind":"command","line":"echo two"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', NULL, false, false, NULL, '2026-11-15 09:51:54.370015+00', NULL, NULL);
INSERT INTO public.jobs VALUES ('01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', 0, 1, 'canceled', true, '01a1de9e-ba32-7280-be88-0e76dbec7175', NULL, '{"action":{"kind":"command","line":"sleep 50"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', '{"ending":{"kind":"canceled"},"stderr":"","stdout":"","truncated":{"stderr":false,"stdout":false}}', true, true, NULL, '2026-11-15 09:51:50.827567+00', '2026-11-15 09:51:50.845953+00', '2026-11-15 09:51:51.92946+00');
INSERT INTO public.jobs VALUES ('01a1de9e-c2e6-71c1-9305-76d476bc4700', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', 1, 1, 'completed', true, '01a1de9e-ba32-7280-be88-0e76dbec7175', '01a1de9e-ba32-7280-be88-0e76dbec7175', '{"action":{"kind":"command","line":"echo again"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', '{"ending":{"code":0,"kind":"exited"},"stderr":"","stdout":"again\n","truncated":{"stderr":false,"stdout":false}}', false, true, NULL, '2026-11-15 09:51:48.966708+00', '2026-11-15 09:51:48.982025+00', '2026-11-15 09:51:49.241247+00');
INSERT INTO public.jobs VALUES ('01a1de9e-c334-72cf-b023-940eb491d4ab', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', 0, 1, 'completed', true, '01a1de9e-ba32-7280-be88-0e76dbec7175', NULL, '{"action":{"kind":"command","line":"exit 3"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', '{"ending":{"code":3,"kind":"exited"},"stderr":"","stdout":"","truncated":{"stderr":false,"stdout":false}}', false, true, NULL, '2026-11-15 09:51:49.046959+00', '2026-11-15 09:51:49.075538+00', '2026-11-15 09:51:49.410692+00');
INSERT INTO public.jobs VALUES ('01a1de9e-d589-7775-84c7-e83fd4b4bc35', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', 0, 1, 'queued', false, NULL, NULL, '{"action":{"kind":"command","line":"echo only"},"attachments":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600}}', NULL, false, false, NULL, '2026-11-15 09:51:53.737493+00', NULL, NULL);
INSERT INTO public.mcp_audit_chains VALUES ('01a1de9e-b675-7619-a0b0-33d83ab1d94a', 0, '\xd2631992c1767d65ba95bf75886e350aa403040f9336c4cf10922081bc90c52a', 1, '2026-11-15 09:51:45.783167+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ab-74b7-b77f-8e8bf56dbe14', 'help.get', NULL, 'both', true, true, '{"description":"What CyNode is and how its tools are used. Without a topic: an overview.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"topic":{"description":"overview, tasks, artifacts, ids or errors.","maxLength":100,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"markdown":{},"topic":{}},"required":["topic","markdown"],"type":"object"},"title":"Get help"}', '6bbeea0588def9542950c5624127f6ead67fae8a314961c5f8bde56c90c22571', '{"description":"What CyNode is and how its tools are used. Without a topic: an overview.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"topic":{"description":"overview, tasks, artifacts, ids or errors.","maxLength":100,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"markdown":{},"topic":{}},"required":["topic","markdown"],"type":"object"},"title":"Get help"}', '6bbeea0588def9542950c5624127f6ead67fae8a314961c5f8bde56c90c22571', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ac-703f-a786-c453022d8c84', 'artifact.get', NULL, 'both', true, true, '{"description":"A file of a task with its content, in standard base64.","input_schema":{"additionalProperties":false,"properties":{"path":{"description":"The path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path"],"type":"object"},"output_schema":{"properties":{"artifact":{},"content_bytes_base64":{}},"required":["artifact","content_bytes_base64"],"type":"object"},"title":"Get a file of a task"}', '29d57897e39ebbaae9dd95bac04f23b30f971c9903331d353bb2d43084e1a185', '{"description":"A file of a task with its content, in standard base64.","input_schema":{"additionalProperties":false,"properties":{"path":{"description":"The path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path"],"type":"object"},"output_schema":{"properties":{"artifact":{},"content_bytes_base64":{}},"required":["artifact","content_bytes_base64"],"type":"object"},"title":"Get a file of a task"}', '29d57897e39ebbaae9dd95bac04f23b30f971c9903331d353bb2d43084e1a185', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ad-72b5-b33a-cd0e7b0f5c08', 'artifact.list', NULL, 'both', true, true, '{"description":"Every file of a task: outputs and attachments, without content.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the files of a task"}', '6a74810bb142a9531a021c21bb2f9c5f98a533614699860754d33ad98869141b', '{"description":"Every file of a task: outputs and attachments, without content.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the files of a task"}', '6a74810bb142a9531a021c21bb2f9c5f98a533614699860754d33ad98869141b', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ad-72b5-b33a-cd0f4154a03a', 'artifact.put', NULL, 'both', true, true, '{"description":"Stores a file of a task at a path, in standard base64. What was at the path before is replaced.","input_schema":{"additionalProperties":false,"properties":{"content_bytes_base64":{"description":"The content, in standard base64.","type":"string"},"path":{"description":"A relative path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path","content_bytes_base64"],"type":"object"},"output_schema":{"properties":{"id":{},"path":{},"sha256":{},"size_bytes":{},"task_id":{}},"required":["id","task_id","path","size_bytes","sha256"],"type":"object"},"title":"Store a file of a task"}', 'b0668e0abfe91dd3104be023b90d2f9afc06f7fb2b27d1e9dab97022549b3068', '{"description":"Stores a file of a task at a path, in standard base64. What was at the path before is replaced.","input_schema":{"additionalProperties":false,"properties":{"content_bytes_base64":{"description":"The content, in standard base64.","type":"string"},"path":{"description":"A relative path.","maxLength":1024,"minLength":1,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id","path","content_bytes_base64"],"type":"object"},"output_schema":{"properties":{"id":{},"path":{},"sha256":{},"size_bytes":{},"task_id":{}},"required":["id","task_id","path","size_bytes","sha256"],"type":"object"},"title":"Store a file of a task"}', 'b0668e0abfe91dd3104be023b90d2f9afc06f7fb2b27d1e9dab97022549b3068', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ad-72b5-b33a-cd10f6a61557', 'db.job.get', NULL, 'pm', true, true, '{"description":"A job: the step of a task it is, the node it ran on, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"job_id":{"description":"The id of the job.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["job_id"],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_id":{}},"required":["id","task_id","status"],"type":"object"},"title":"Get a job"}', 'c5598ebf28aa4b5dde879a7860ad9eeb94f3582179f7a4cd5c0bcb0695c48e8e', '{"description":"A job: the step of a task it is, the node it ran on, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"job_id":{"description":"The id of the job.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["job_id"],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_id":{}},"required":["id","task_id","status"],"type":"object"},"title":"Get a job"}', 'c5598ebf28aa4b5dde879a7860ad9eeb94f3582179f7a4cd5c0bcb0695c48e8e', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ae-718b-bcf1-a0b46e8f67c7', 'db.job.list', NULL, 'pm', true, true, '{"description":"Every job of a task, in the order they were made.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the jobs of a task"}', '508aed636982be00f8a0c9291d743870c6c504e6b2ea685078d64f45b6bd5d64', '{"description":"Every job of a task, in the order they were made.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List the jobs of a task"}', '508aed636982be00f8a0c9291d743870c6c504e6b2ea685078d64f45b6bd5d64', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7ae-718b-bcf1-a0b5d7dae56a', 'db.project.create', NULL, 'pm', true, true, '{"description":"Makes a project; its slug comes from its name, numbered if taken.","input_schema":{"additionalProperties":false,"properties":{"description":{"description":"What it is about.","maxLength":65536,"type":"string"},"display_name":{"description":"The name people see.","maxLength":100,"minLength":1,"type":"string"}},"required":["display_name"],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Create a project"}', '295722938aab27a9b18ec935118824fbf93e4423544106b562a5642e6388a554', '{"description":"Makes a project; its slug comes from its name, numbered if taken.","input_schema":{"additionalProperties":false,"properties":{"description":{"description":"What it is about.","maxLength":65536,"type":"string"},"display_name":{"description":"The name people see.","maxLength":100,"minLength":1,"type":"string"}},"required":["display_name"],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Create a project"}', '295722938aab27a9b18ec935118824fbf93e4423544106b562a5642e6388a554', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7af-77df-bc4f-b64c36e89e07', 'db.project.get', NULL, 'pm', true, true, '{"description":"A project, by its id or by its slug: give one of both.","input_schema":{"additionalProperties":false,"oneOf":[{"required":["project_id"]},{"required":["slug"]}],"properties":{"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"slug":{"description":"The slug of the project.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Get a project"}', '9cad8136c37aa87cf04bd6560fc3fd430bb9a4ea8a39bbf7d32fb1191e2bc629', '{"description":"A project, by its id or by its slug: give one of both.","input_schema":{"additionalProperties":false,"oneOf":[{"required":["project_id"]},{"required":["slug"]}],"properties":{"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"slug":{"description":"The slug of the project.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"display_name":{},"id":{},"slug":{}},"required":["id","slug","display_name"],"type":"object"},"title":"Get a project"}', '9cad8136c37aa87cf04bd6560fc3fd430bb9a4ea8a39bbf7d32fb1191e2bc629', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7af-77df-bc4f-b64d6fd163fb', 'db.project.list', NULL, 'pm', true, true, '{"description":"Projects the user may see, newest first.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List projects"}', '1a4ebd7ec1eb8fc13b3a74cb46250c33c388ab4db6bab3bc4d0485f6fe343921', '{"description":"Projects the user may see, newest first.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List projects"}', '1a4ebd7ec1eb8fc13b3a74cb46250c33c388ab4db6bab3bc4d0485f6fe343921', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b0-7253-8145-f35c5cbc1dac', 'db.system_setting.create', NULL, 'pm', true, true, '{"description":"Makes a setting that does not exist yet. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Create a setting"}', 'c52244ed7d1b0c5a051cd965084e4410d9af03571e12aaa928af0171e25281e6', '{"description":"Makes a setting that does not exist yet. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Create a setting"}', 'c52244ed7d1b0c5a051cd965084e4410d9af03571e12aaa928af0171e25281e6', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b0-7253-8145-f35dd6bf8ffa', 'db.system_setting.delete', NULL, 'pm', true, true, '{"description":"Removes a setting; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"deleted":{},"key":{}},"required":["key","deleted"],"type":"object"},"title":"Delete a setting"}', 'd81a03ac00a764cd49f992edb1d4367545b7d599df34efc10a4ea16b6f3529e4', '{"description":"Removes a setting; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"deleted":{},"key":{}},"required":["key","deleted"],"type":"object"},"title":"Delete a setting"}', 'd81a03ac00a764cd49f992edb1d4367545b7d599df34efc10a4ea16b6f3529e4', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b0-7253-8145-f35e8a80f284', 'db.system_setting.get', NULL, 'pm', true, true, '{"description":"A setting of the installation.","input_schema":{"additionalProperties":false,"properties":{"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Get a setting"}', '4e47b055c2b7f3d6b6f05cfc5254107ae0a65c7abba1106d6112fdc6a4faf8ca', '{"description":"A setting of the installation.","input_schema":{"additionalProperties":false,"properties":{"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"}},"required":["key"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Get a setting"}', '4e47b055c2b7f3d6b6f05cfc5254107ae0a65c7abba1106d6112fdc6a4faf8ca', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b1-7580-b37e-5e71a7606053', 'db.system_setting.list', NULL, 'pm', true, true, '{"description":"Settings of the installation whose name begins with key_prefix, by name.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"key_prefix":{"description":"How names begin.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List settings"}', 'd7557c16674bc09e0962c3235f714ed94b882e33079d73b48a44ef13e1f5cfe1', '{"description":"Settings of the installation whose name begins with key_prefix, by name.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"key_prefix":{"description":"How names begin.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List settings"}', 'd7557c16674bc09e0962c3235f714ed94b882e33079d73b48a44ef13e1f5cfe1', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b1-7580-b37e-5e72f2c7de06', 'db.system_setting.update', NULL, 'pm', true, true, '{"description":"Gives a setting another value; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Change a setting"}', 'dfbf19a54017e599fc94bc93f78d260d665ca81f9f187783efc0ec5cf92abfe4', '{"description":"Gives a setting another value; with expected_version only if nobody changed it meanwhile. Administrators only.","input_schema":{"additionalProperties":false,"properties":{"expected_version":{"description":"The version it replaces.","type":"integer"},"key":{"description":"The name of the setting.","maxLength":200,"minLength":1,"type":"string"},"reason":{"description":"Why, for the record.","maxLength":1000,"minLength":1,"type":"string"},"value":{"description":"Any JSON value."},"value_type":{"enum":["boolean","number","string","array","object","null"]}},"required":["key","value","value_type"],"type":"object"},"output_schema":{"properties":{"key":{},"value":{},"value_type":{},"version":{}},"required":["key","value","value_type","version"],"type":"object"},"title":"Change a setting"}', 'dfbf19a54017e599fc94bc93f78d260d665ca81f9f187783efc0ec5cf92abfe4', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b2-779f-9009-9eb5d399eceb', 'db.task.cancel', NULL, 'pm', true, true, '{"description":"Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"canceled":{},"cascaded":{},"task_id":{}},"required":["task_id","canceled","cascaded"],"type":"object"},"title":"Cancel a task"}', 'a4080cc966d6c7fb64c8d36a377080b93caed8d887f883af3c92c4f9ee08d2fb', '{"description":"Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"canceled":{},"cascaded":{},"task_id":{}},"required":["task_id","canceled","cascaded"],"type":"object"},"title":"Cancel a task"}', 'a4080cc966d6c7fb64c8d36a377080b93caed8d887f883af3c92c4f9ee08d2fb', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b2-779f-9009-9eb6472ae1d1', 'db.task.create', NULL, 'pm', true, true, '{"description":"Creates a task and the run that carries it out. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.","input_schema":{"additionalProperties":false,"properties":{"acceptance_criteria":{"maxItems":100,"type":"array"},"commands":{"items":{"type":"string"},"maxItems":200,"type":"array"},"depends_on":{"items":{"type":"string"},"maxItems":100,"type":"array"},"expected_outputs":{"items":{"type":"string"},"maxItems":100,"type":"array"},"idempotency_key":{"description":"Two calls with the same key create one task.","maxLength":200,"minLength":1,"type":"string"},"input_mode":{"description":"prompt when absent.","enum":["prompt","script","commands"]},"max_attempts":{"maximum":10,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"prompt":{"description":"The request in prose, or the text of the script.","maxLength":1000000,"minLength":1,"type":"string"},"task_name":{"description":"A name for the task; made from the request when absent.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_name":{}},"required":["id","task_name","status"],"type":"object"},"title":"Create a task"}', 'db985c5f0e1a017589e49a73a13a7af155190eba43b2f23130db33a2dc374062', '{"description":"Creates a task and the run that carries it out. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.","input_schema":{"additionalProperties":false,"properties":{"acceptance_criteria":{"maxItems":100,"type":"array"},"commands":{"items":{"type":"string"},"maxItems":200,"type":"array"},"depends_on":{"items":{"type":"string"},"maxItems":100,"type":"array"},"expected_outputs":{"items":{"type":"string"},"maxItems":100,"type":"array"},"idempotency_key":{"description":"Two calls with the same key create one task.","maxLength":200,"minLength":1,"type":"string"},"input_mode":{"description":"prompt when absent.","enum":["prompt","script","commands"]},"max_attempts":{"maximum":10,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"prompt":{"description":"The request in prose, or the text of the script.","maxLength":1000000,"minLength":1,"type":"string"},"task_name":{"description":"A name for the task; made from the request when absent.","maxLength":200,"minLength":1,"type":"string"}},"required":[],"type":"object"},"output_schema":{"properties":{"id":{},"status":{},"task_name":{}},"required":["id","task_name","status"],"type":"object"},"title":"Create a task"}', 'db985c5f0e1a017589e49a73a13a7af155190eba43b2f23130db33a2dc374062', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b3-72ff-a620-c64de87e18df', 'db.task.get', NULL, 'pm', true, true, '{"description":"A task: what was asked for, where it stands, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"closed":{},"id":{},"status":{},"task_name":{}},"required":["id","task_name","status","closed"],"type":"object"},"title":"Get a task"}', '470832fba463e9c2450819490995ffc62f08ab9d6dfda6c4bb6bd33592466caa', '{"description":"A task: what was asked for, where it stands, and what came of it.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"closed":{},"id":{},"status":{},"task_name":{}},"required":["id","task_name","status","closed"],"type":"object"},"title":"Get a task"}', '470832fba463e9c2450819490995ffc62f08ab9d6dfda6c4bb6bd33592466caa', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b3-72ff-a620-c64e341876c3', 'db.task.list', NULL, 'pm', true, true, '{"description":"Tasks of the user, newest first; of one project where the caller is bound to one.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"status":{"enum":["queued","running","completed","failed","canceled","superseded"]}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List tasks"}', '73bb6ff61c05012e4f406e9e2f28bdbb1fb2b50efe041d1a2899e071ac85debf', '{"description":"Tasks of the user, newest first; of one project where the caller is bound to one.","input_schema":{"additionalProperties":false,"properties":{"cursor":{"description":"The next_cursor of the page before; absent for the first page.","maxLength":200,"minLength":1,"type":"string"},"limit":{"description":"How many items; 50 when absent.","maximum":200,"minimum":1,"type":"integer"},"project_id":{"description":"The id of the project.","format":"uuid","maxLength":36,"minLength":36,"type":"string"},"status":{"enum":["queued","running","completed","failed","canceled","superseded"]}},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List tasks"}', '73bb6ff61c05012e4f406e9e2f28bdbb1fb2b50efe041d1a2899e071ac85debf', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b4-7741-b985-e2c151d46490', 'db.task.logs', NULL, 'pm', true, true, '{"description":"The output of every job of a task so far, in the order the jobs ran.","input_schema":{"additionalProperties":false,"properties":{"stream":{"description":"Which stream; all when absent.","enum":["stdout","stderr","all"]},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"stderr":{},"stdout":{},"task_id":{}},"required":["task_id","stdout","stderr"],"type":"object"},"title":"Get the output of a task"}', 'd5ed4231c88fea86ea41be1c6a917c0254c0af13a7dd9e6a4024427b750ca809', '{"description":"The output of every job of a task so far, in the order the jobs ran.","input_schema":{"additionalProperties":false,"properties":{"stream":{"description":"Which stream; all when absent.","enum":["stdout","stderr","all"]},"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"stderr":{},"stdout":{},"task_id":{}},"required":["task_id","stdout","stderr"],"type":"object"},"title":"Get the output of a task"}', 'd5ed4231c88fea86ea41be1c6a917c0254c0af13a7dd9e6a4024427b750ca809', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b4-7741-b985-e2c2aaadde1f', 'db.task.result', NULL, 'pm', true, true, '{"description":"What came of a task, job by job, with exit codes and kept output.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"jobs":{},"status":{},"task_id":{}},"required":["task_id","status","jobs"],"type":"object"},"title":"Get the result of a task"}', '23a561cf3f1746b6cf9e97ebff7380ea24dcd65a8317a1bd3c3bce96a65aea5f', '{"description":"What came of a task, job by job, with exit codes and kept output.","input_schema":{"additionalProperties":false,"properties":{"task_id":{"description":"The id of the task.","format":"uuid","maxLength":36,"minLength":36,"type":"string"}},"required":["task_id"],"type":"object"},"output_schema":{"properties":{"jobs":{},"status":{},"task_id":{}},"required":["task_id","status","jobs"],"type":"object"},"title":"Get the result of a task"}', '23a561cf3f1746b6cf9e97ebff7380ea24dcd65a8317a1bd3c3bce96a65aea5f', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b4-7741-b985-e2c30a79146d', 'node.get', NULL, 'pm', true, true, '{"description":"A worker node, by its slug.","input_schema":{"additionalProperties":false,"properties":{"node_slug":{"description":"The name of the node.","maxLength":200,"minLength":1,"type":"string"}},"required":["node_slug"],"type":"object"},"output_schema":{"properties":{"id":{},"node_slug":{},"status":{}},"required":["id","node_slug","status"],"type":"object"},"title":"Get a worker node"}', 'e8681872419956b7f1fccac537cf491e9d1dd3f056d0417e47dc26fe5deda6ac', '{"description":"A worker node, by its slug.","input_schema":{"additionalProperties":false,"properties":{"node_slug":{"description":"The name of the node.","maxLength":200,"minLength":1,"type":"string"}},"required":["node_slug"],"type":"object"},"output_schema":{"properties":{"id":{},"node_slug":{},"status":{}},"required":["id","node_slug","status"],"type":"object"},"title":"Get a worker node"}', 'e8681872419956b7f1fccac537cf491e9d1dd3f056d0417e47dc26fe5deda6ac', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.mcp_tools VALUES ('01a1de9e-b7b5-7545-8075-1d4941ca1695', 'node.list', NULL, 'pm', true, true, '{"description":"Every worker node with its capabilities, load and last sign of life.","input_schema":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List worker nodes"}', 'b6fa6798749832a72e5206acbe701461fe3cd2c4c1aa9cdd716685c1ac66fafa', '{"description":"Every worker node with its capabilities, load and last sign of life.","input_schema":{"additionalProperties":false,"properties":{},"required":[],"type":"object"},"output_schema":{"properties":{"items":{}},"required":["items"],"type":"object"},"title":"List worker nodes"}', 'b6fa6798749832a72e5206acbe701461fe3cd2c4c1aa9cdd716685c1ac66fafa', '2026-11-15 09:51:46.050062+00', '2026-11-15 09:51:46.050062+00');
INSERT INTO public.nodes VALUES ('01a1de9e-ba32-7280-be88-0e76dbec7175', 'anvil', 'drained', '\x57cb38ebb7b84fe4c3748d03738921f9ea6e204c5ae46f2d1a932011a00dcbf1', '{"arch":"x86_64","cpu_cores":2,"max_concurrency":4,"memory_mib":24104,"os":"linux","sandbox":{"backend":"namespaces","features":["pid_namespace","mount_namespace","network_namespace","ipc_namespace","uts_namespace","rlimits","no_capabilities","no_new_privs","own_user","landlock","seccomp"],"supported":true}}', true, 4, '2026-11-15 09:52:00.555459+00', '2026-11-15 09:51:46.738263+00', '2026-11-15 09:51:53.477165+00');
INSERT INTO public.password_credentials VALUES ('01a1de9e-b70a-7626-b642-bd4f4b4350cd', '$argon2id$v=19$m=19456,t=2,p=1$3rGPuRRk1vbiNj/KHhDGFg$yYHYYN9QFie6Cq49lajT9S2FrioOzuASZYY5ER3Nv/w', 'argon2id', '2026-11-15 09:51:45.930782+00');
INSERT INTO public.policy_revision VALUES (1, 2);
INSERT INTO public.projects VALUES ('01a1de9e-c03c-77a3-b667-bccd966cee2b', 'default-01a1de9e-b70a-7626-b642-bd4f4b4350cd', 'Default', '', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', true, true, '2026-11-15 09:51:48.283376+00', '2026-11-15 09:51:48.283376+00');
INSERT INTO public.runs VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b713d3dabf', 'completed', false, '2026-11-15 09:51:48.296204+00', '2026-11-15 09:51:48.322181+00', '2026-11-15 09:51:49.493548+00');
INSERT INTO public.runs VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a333c54f2886', 'failed', false, '2026-11-15 09:51:48.867837+00', '2026-11-15 09:51:48.899863+00', '2026-11-15 09:51:49.608351+00');
INSERT INTO public.runs VALUES ('01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-6a007be39a49', 'canceled', false, '2026-11-15 09:51:50.705468+00', '2026-11-15 09:51:50.743852+00', '2026-11-15 09:51:51.788043+00');
INSERT INTO public.runs VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f3d40ba3a4', 'running', true, '2026-11-15 09:51:51.901736+00', '2026-11-15 09:51:51.918425+00', NULL);
INSERT INTO public.runs VALUES ('01a1de9e-d4d8-7552-bc18-08d177010c95', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d2b3c40af1', 'running', true, '2026-11-15 09:51:53.560736+00', '2026-11-15 09:51:53.597044+00', NULL);
INSERT INTO public.runs VALUES ('01a1de9e-d754-7208-b651-85fc58366771', '01a1de9e-d74a-76c7-9eba-e66e68bcb863', '01a1de9e-d754-7208-b651-85fd6df4f32f', 'pending', true, '2026-11-15 09:51:54.196358+00', NULL, NULL);
INSERT INTO public.runs VALUES ('01a1de9e-e764-71f5-8090-1343e62fc5ec', '01a1de9e-e761-74d5-9934-ac4330058fc3', '01a1de9e-e764-71f5-8090-13448700c16d', 'pending', true, '2026-11-15 09:51:58.308562+00', NULL, NULL);
INSERT INTO public.schema_version VALUES (1);
INSERT INTO public.schema_version VALUES (2);
INSERT INTO public.system_settings VALUES ('access.rules.seeded', 'true', 'boolean', 1, '2026-11-15 09:51:46.050062+00', NULL);
INSERT INTO public.task_dependencies VALUES ('01a1de9e-d74a-76c7-9eba-e66e68bcb863', '01a1de9e-d4d3-7729-be28-cf1a8911c77b');
INSERT INTO public.task_workflow_leases VALUES ('01a1de9e-c05a-7136-8ba4-612c1897a238', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '01a1de9e-c05a-7136-8ba4-612bdd5894fa', NULL, 1, NULL, '2026-11-15 09:51:48.315165+00', '2026-11-15 09:51:49.491249+00');
INSERT INTO public.task_workflow_leases VALUES ('01a1de9e-c2a0-7710-abc6-194dd5a24eab', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '01a1de9e-c2a0-7710-abc6-194c5c85c623', NULL, 1, NULL, '2026-11-15 09:51:48.897522+00', '2026-11-15 09:51:49.607487+00');
INSERT INTO public.task_workflow_leases VALUES ('01a1de9e-c9c9-766d-b187-9997dd4f45d8', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '01a1de9e-c9c9-766d-b187-9996dfcff8aa', NULL, 2, NULL, '2026-11-15 09:51:50.729856+00', '2026-11-15 09:51:51.786498+00');
INSERT INTO public.task_workflow_leases VALUES ('01a1de9e-ce62-73ec-916a-ef8ed7c5c732', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '01a1de9e-ce62-73ec-916a-ef8d074cd1a8', '01a1de9e-b8ca-7797-a2b4-25c4941c334f', 1, '2026-11-15 09:52:01.947328+00', '2026-11-15 09:51:51.907367+00', '2026-11-15 09:51:56.947328+00');
INSERT INTO public.task_workflow_leases VALUES ('01a1de9e-d4ef-7003-8322-9bc82afebb92', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', '01a1de9e-d4ef-7003-8322-9bc710ffb845', '01a1de9e-b8ca-7797-a2b4-25c4941c334f', 1, '2026-11-15 09:52:01.964672+00', '2026-11-15 09:51:53.584942+00', '2026-11-15 09:51:56.964673+00');
INSERT INTO public.tasks VALUES ('01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'done', 'completed', true, 'commands', '', '["echo ran","echo again"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', '2 steps verified; the last command exited with code 0.', NULL, '2026-11-15 09:51:48.283376+00', '2026-11-15 09:51:49.492867+00', '2026-11-15 09:51:48.31737+00', '2026-11-15 09:51:49.492867+00');
INSERT INTO public.tasks VALUES ('01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'broken', 'failed', true, 'commands', '', '["exit 3"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', 'Step 1 of 1 failed after 1 attempt: the command exited with code 3.', NULL, '2026-11-15 09:51:48.83796+00', '2026-11-15 09:51:49.607928+00', '2026-11-15 09:51:48.898945+00', '2026-11-15 09:51:49.607929+00');
INSERT INTO public.tasks VALUES ('01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'stopped', 'canceled', true, 'commands', '', '["sleep 50"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', 'canceled by admin', NULL, '2026-11-15 09:51:50.641475+00', '2026-11-15 09:51:51.787199+00', '2026-11-15 09:51:50.737568+00', '2026-11-15 09:51:51.7872+00');
INSERT INTO public.tasks VALUES ('01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'half', 'running', false, 'commands', '', '["echo one; sleep 2","echo two"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', NULL, NULL, '2026-11-15 09:51:51.875959+00', '2026-11-15 09:51:51.917418+00', '2026-11-15 09:51:51.917418+00', NULL);
INSERT INTO public.tasks VALUES ('01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'dispatched', 'running', false, 'commands', '', '["echo only"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', NULL, NULL, '2026-11-15 09:51:53.555407+00', '2026-11-15 09:51:53.590754+00', '2026-11-15 09:51:53.590754+00', NULL);
INSERT INTO public.tasks VALUES ('01a1de9e-d74a-76c7-9eba-e66e68bcb863', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'behind', 'pending', false, 'commands', '', '["echo last"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', NULL, NULL, '2026-11-15 09:51:54.186786+00', '2026-11-15 09:51:54.186786+00', NULL, NULL);
INSERT INTO public.tasks VALUES ('01a1de9e-e761-74d5-9934-ac4330058fc3', '01a1de9e-b70a-7626-b642-bd4f4b4350cd', '01a1de9e-c03c-77a3-b667-bccd966cee2b', NULL, 'waiting', 'pending', false, 'commands', '', '["echo soon"]', '[]', '{"expected_outputs":[],"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false}', NULL, NULL, '2026-11-15 09:51:58.305993+00', '2026-11-15 09:51:58.305993+00', NULL, NULL);
INSERT INTO public.users VALUES ('01a1de9e-b70a-7626-b642-bd4e42ef947b', 'system', false, false, '2026-11-15 09:51:45.930782+00', '2026-11-15 09:51:45.930782+00');
INSERT INTO public.users VALUES ('01a1de9e-b70a-7626-b642-bd4f4b4350cd', 'admin', true, true, '2026-11-15 09:51:45.930782+00', '2026-11-15 09:51:45.930782+00');
INSERT INTO public.workflow_checkpoints VALUES ('01a1de9e-c0d7-738d-977f-3019d6e79468', '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', '01a1de9e-c047-70fd-ae97-63b6e027d431', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":{"outcome":"completed","summary":"2 steps verified; the last command exited with code 0."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 'finalize_summary', 'finished', 9, '2026-11-15 09:51:49.48057+00');
INSERT INTO public.workflow_checkpoints VALUES ('01a1de9e-ce9a-7253-a8d1-e1ebf6a66b9f', '01a1de9e-ce43-7764-9db4-6c68ac6fb310', '01a1de9e-ce5d-716f-a39b-93f27d9cb216', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-d801-71ab-83f4-4c4123a56a0e","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 'dispatch_step', 'dispatched', 6, '2026-11-15 09:51:54.397171+00');
INSERT INTO public.workflow_checkpoints VALUES ('01a1de9e-c2d2-75cd-b8e6-7296d64bf16d', '01a1de9e-c265-7686-a601-d583cb4b40fd', '01a1de9e-c282-70b3-a68e-a33257459056', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":{"outcome":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}', 'mark_failed', 'finished', 6, '2026-11-15 09:51:49.605848+00');
INSERT INTO public.workflow_checkpoints VALUES ('01a1de9e-ca06-7113-9de4-84de5d6077ce', '01a1de9e-c971-770a-87c8-b517d89f2b33', '01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c971-770a-87c8-b517d89f2b33","verification":null}', 'dispatch_step', 'dispatched', 3, '2026-11-15 09:51:50.846534+00');
INSERT INTO public.workflow_checkpoints VALUES ('01a1de9e-d52b-7087-9b8a-b3c111d8f7aa', '01a1de9e-d4d3-7729-be28-cf1a8911c77b', '01a1de9e-d4d8-7552-bc18-08d177010c95', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-d589-7775-84c7-e83fd4b4bc35","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-d4d3-7729-be28-cf1a8911c77b","verification":null}', 'dispatch_step', 'dispatched', 3, '2026-11-15 09:51:53.778046+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', '3/dispatch_step/dispatch/0/1', 3, '"01a1de9e-c134-777a-8dee-170559c0701b"', '2026-11-15 09:51:48.549052+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', '5/verify_step_result/verify/01a1de9e-c134-777a-8dee-170559c0701b', 5, '{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}', '2026-11-15 09:51:48.927479+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', '6/dispatch_step/dispatch/1/1', 6, '"01a1de9e-c2e6-71c1-9305-76d476bc4700"', '2026-11-15 09:51:48.982139+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', '3/dispatch_step/dispatch/0/1', 3, '"01a1de9e-c334-72cf-b023-940eb491d4ab"', '2026-11-15 09:51:49.075632+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', '8/verify_step_result/verify/01a1de9e-c2e6-71c1-9305-76d476bc4700', 8, '{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}', '2026-11-15 09:51:49.379387+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', '5/verify_step_result/verify/01a1de9e-c334-72cf-b023-940eb491d4ab', 5, '{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}', '2026-11-15 09:51:49.551757+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-c9b1-77e8-9444-69ffc8543c3c', '3/dispatch_step/dispatch/0/1', 3, '"01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b"', '2026-11-15 09:51:50.838244+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', '3/dispatch_step/dispatch/0/1', 3, '"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4"', '2026-11-15 09:51:52.013848+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-d4d8-7552-bc18-08d177010c95', '3/dispatch_step/dispatch/0/1', 3, '"01a1de9e-d589-7775-84c7-e83fd4b4bc35"', '2026-11-15 09:51:53.761263+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', '5/verify_step_result/verify/01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', 5, '{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}', '2026-11-15 09:51:54.333184+00');
INSERT INTO public.workflow_effects VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', '6/dispatch_step/dispatch/1/1', 6, '"01a1de9e-d801-71ab-83f4-4c4123a56a0e"', '2026-11-15 09:51:54.386495+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 1, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'load_task_context', 'loaded', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo ran","echo again"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":null}', 1, 48, '2026-11-15 09:51:48.441566+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 2, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'plan_steps', 'first_step', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":null}', 1, 0, '2026-11-15 09:51:48.506721+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 3, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'dispatch_step', 'dispatched', 0, '01a1de9e-c134-777a-8dee-170559c0701b', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":null}', 1, 46, '2026-11-15 09:51:48.577604+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 4, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'collect_result', 'collected', 0, '01a1de9e-c134-777a-8dee-170559c0701b', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":null}', 1, 262, '2026-11-15 09:51:48.869076+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 1, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'load_task_context', 'loaded', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["exit 3"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":null}', 1, 22, '2026-11-15 09:51:48.947378+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 5, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'verify_step_result', 'next_step', 0, '01a1de9e-c134-777a-8dee-170559c0701b', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 55, '2026-11-15 09:51:48.947579+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 6, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'dispatch_step', 'dispatched', 1, '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c134-777a-8dee-170559c0701b","status":"completed","stderr_tail":"","stdout_tail":"ran\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 26, '2026-11-15 09:51:49.014495+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 2, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'plan_steps', 'first_step', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":null}', 1, 0, '2026-11-15 09:51:49.01509+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 3, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'dispatch_step', 'dispatched', 0, '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":null}', 1, 55, '2026-11-15 09:51:49.097577+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 7, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'collect_result', 'collected', 1, '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 230, '2026-11-15 09:51:49.314803+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 6, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'mark_failed', 'finished', 0, '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":{"outcome":"failed","summary":"Step 1 of 1 failed after 1 attempt: the command exited with code 3."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}', 1, 0, '2026-11-15 09:51:49.606511+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c9b1-77e8-9444-69ffc8543c3c', 1, '01a1de9e-c971-770a-87c8-b517d89f2b33', 'load_task_context', 'loaded', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["sleep 50"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-c971-770a-87c8-b517d89f2b33","verification":null}', 1, 4, '2026-11-15 09:51:50.798322+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-d4d8-7552-bc18-08d177010c95', 1, '01a1de9e-d4d3-7729-be28-cf1a8911c77b', 'load_task_context', 'loaded', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo only"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-d4d3-7729-be28-cf1a8911c77b","verification":null}', 1, 12, '2026-11-15 09:51:53.645068+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 4, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'collect_result', 'collected', 0, '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":null}', 1, 2238, '2026-11-15 09:51:54.302858+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 5, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'verify_step_result', 'next_step', 0, '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","step_index":0},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 24, '2026-11-15 09:51:54.353111+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 8, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'verify_step_result', 'all_verified', 1, '01a1de9e-c2e6-71c1-9305-76d476bc4700', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 73, '2026-11-15 09:51:49.449687+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 5, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'verify_step_result', 'no_retry_left', 0, '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":{"findings":[{"message":"the command exited with code 3","rule":"exit_code","status":"fail"}],"recommended_actions":[],"status":"fail"}}', 1, 99, '2026-11-15 09:51:49.593682+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c9b1-77e8-9444-69ffc8543c3c', 2, '01a1de9e-c971-770a-87c8-b517d89f2b33', 'plan_steps', 'first_step', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c971-770a-87c8-b517d89f2b33","verification":null}', 1, 0, '2026-11-15 09:51:50.814197+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 2, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'plan_steps', 'first_step', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":null}', 1, 0, '2026-11-15 09:51:51.974946+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c282-70b3-a68e-a33257459056', 4, '01a1de9e-c265-7686-a601-d583cb4b40fd', 'collect_result', 'collected', 0, '01a1de9e-c334-72cf-b023-940eb491d4ab', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","step_index":0},"last_result":{"ending":{"code":3,"kind":"exited"},"job_id":"01a1de9e-c334-72cf-b023-940eb491d4ab","status":"completed","stderr_tail":"","stdout_tail":""},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"exit 3"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c265-7686-a601-d583cb4b40fd","verification":null}', 1, 325, '2026-11-15 09:51:49.453757+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c047-70fd-ae97-63b6e027d431', 9, '01a1de9e-c03b-745f-aa5a-0f6206dbbb78', 'finalize_summary', 'finished', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":{"outcome":"completed","summary":"2 steps verified; the last command exited with code 0."},"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-c2e6-71c1-9305-76d476bc4700","status":"completed","stderr_tail":"","stdout_tail":"again\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo ran"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo again"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c03b-745f-aa5a-0f6206dbbb78","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 0, '2026-11-15 09:51:49.484758+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-c9b1-77e8-9444-69ffc8543c3c', 3, '01a1de9e-c971-770a-87c8-b517d89f2b33', 'dispatch_step', 'dispatched', 0, '01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-ca2b-7103-aa5d-fcfd62daaf2b","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"sleep 50"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-c971-770a-87c8-b517d89f2b33","verification":null}', 1, 20, '2026-11-15 09:51:50.84697+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 1, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'load_task_context', 'loaded', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":[],"steps":[]},"preferences_effective":{},"request":{"commands":["echo one; sleep 2","echo two"],"expected_outputs":[],"mode":"commands","prompt":""},"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":null}', 1, 15, '2026-11-15 09:51:51.96375+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 3, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'dispatch_step', 'dispatched', 0, '01a1de9e-ceb2-7598-9e74-3ca9f7196eb4', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":null}', 1, 43, '2026-11-15 09:51:52.030711+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-d4d8-7552-bc18-08d177010c95', 2, '01a1de9e-d4d3-7729-be28-cf1a8911c77b', 'plan_steps', 'first_step', NULL, NULL, '{"acceptance_criteria":[],"attempts_by_step":{},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":null,"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-d4d3-7729-be28-cf1a8911c77b","verification":null}', 1, 0, '2026-11-15 09:51:53.712722+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-d4d8-7552-bc18-08d177010c95', 3, '01a1de9e-d4d3-7729-be28-cf1a8911c77b', 'dispatch_step', 'dispatched', 0, '01a1de9e-d589-7775-84c7-e83fd4b4bc35', '{"acceptance_criteria":[],"attempts_by_step":{"0":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":0,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-d589-7775-84c7-e83fd4b4bc35","step_index":0},"last_result":null,"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo only"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-d4d3-7729-be28-cf1a8911c77b","verification":null}', 1, 38, '2026-11-15 09:51:53.778479+00');
INSERT INTO public.workflow_history VALUES ('01a1de9e-ce5d-716f-a39b-93f27d9cb216', 6, '01a1de9e-ce43-7764-9db4-6c68ac6fb310', 'dispatch_step', 'dispatched', 1, '01a1de9e-d801-71ab-83f4-4c4123a56a0e', '{"acceptance_criteria":[],"attempts_by_step":{"0":1,"1":1},"bounds":{"limits":{"disk_mib":2048,"memory_mib":2048,"output_bytes":262144,"processes":256,"timeout_s":3600},"max_attempts":1,"retry_interrupted":false},"current_step_index":1,"failure":null,"finish":null,"graph_version":1,"job":{"attempt":1,"job_id":"01a1de9e-d801-71ab-83f4-4c4123a56a0e","step_index":1},"last_result":{"ending":{"code":0,"kind":"exited"},"job_id":"01a1de9e-ceb2-7598-9e74-3ca9f7196eb4","status":"completed","stderr_tail":"","stdout_tail":"one\n"},"plan":{"assumptions":["commands run in order in one workspace"],"steps":[{"action":{"kind":"command","line":"echo one; sleep 2"},"expected_outputs":[]},{"action":{"kind":"command","line":"echo two"},"expected_outputs":[]}]},"preferences_effective":{},"request":null,"task_id":"01a1de9e-ce43-7764-9db4-6c68ac6fb310","verification":{"findings":[{"message":"the command exited with code 0","rule":"exit_code","status":"pass"}],"recommended_actions":[],"status":"pass"}}', 1, 34, '2026-11-15 09:51:54.401091+00');
SELECT pg_catalog.setval('public.events_seq_seq', 59, true);
ALTER TABLE ONLY public.access_control_audit_log
    ADD CONSTRAINT access_control_audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.access_control_rules
    ADD CONSTRAINT access_control_rules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.auth_audit_log
    ADD CONSTRAINT auth_audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (txid, seq);
ALTER TABLE ONLY public.job_logs
    ADD CONSTRAINT job_logs_pkey PRIMARY KEY (job_id, stream, start_offset);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_run_id_step_index_attempt_key UNIQUE (run_id, step_index, attempt);
ALTER TABLE ONLY public.mcp_audit_anchors
    ADD CONSTRAINT mcp_audit_anchors_pkey PRIMARY KEY (chain_id, seq);
ALTER TABLE ONLY public.mcp_audit_chains
    ADD CONSTRAINT mcp_audit_chains_pkey PRIMARY KEY (chain_id);
ALTER TABLE ONLY public.mcp_servers
    ADD CONSTRAINT mcp_servers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mcp_servers
    ADD CONSTRAINT mcp_servers_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.mcp_tool_call_audit_log
    ADD CONSTRAINT mcp_tool_call_audit_log_chain_id_seq_key UNIQUE (chain_id, seq);
ALTER TABLE ONLY public.mcp_tool_call_audit_log
    ADD CONSTRAINT mcp_tool_call_audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mcp_tool_call_outcomes
    ADD CONSTRAINT mcp_tool_call_outcomes_chain_id_seq_key UNIQUE (chain_id, seq);
ALTER TABLE ONLY public.mcp_tool_call_outcomes
    ADD CONSTRAINT mcp_tool_call_outcomes_pkey PRIMARY KEY (call_id);
ALTER TABLE ONLY public.mcp_tools
    ADD CONSTRAINT mcp_tools_name_key UNIQUE (name);
ALTER TABLE ONLY public.mcp_tools
    ADD CONSTRAINT mcp_tools_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_node_slug_key UNIQUE (node_slug);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_token_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.password_credentials
    ADD CONSTRAINT password_credentials_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.policy_revision
    ADD CONSTRAINT policy_revision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_slug_key UNIQUE (slug);
ALTER TABLE ONLY public.refresh_sessions
    ADD CONSTRAINT refresh_sessions_access_token_hash_key UNIQUE (access_token_hash);
ALTER TABLE ONLY public.refresh_sessions
    ADD CONSTRAINT refresh_sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.refresh_sessions
    ADD CONSTRAINT refresh_sessions_refresh_token_hash_key UNIQUE (refresh_token_hash);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.spent_refresh_tokens
    ADD CONSTRAINT spent_refresh_tokens_pkey PRIMARY KEY (refresh_token_hash);
ALTER TABLE ONLY public.system_settings_audit_log
    ADD CONSTRAINT system_settings_audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.system_settings
    ADD CONSTRAINT system_settings_pkey PRIMARY KEY (key);
ALTER TABLE ONLY public.task_artifacts
    ADD CONSTRAINT task_artifacts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.task_artifacts
    ADD CONSTRAINT task_artifacts_task_id_kind_path_key UNIQUE (task_id, kind, path);
ALTER TABLE ONLY public.task_dependencies
    ADD CONSTRAINT task_dependencies_pkey PRIMARY KEY (task_id, depends_on_task_id);
ALTER TABLE ONLY public.task_workflow_leases
    ADD CONSTRAINT task_workflow_leases_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.task_workflow_leases
    ADD CONSTRAINT task_workflow_leases_task_id_key UNIQUE (task_id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_created_by_idempotency_key_key UNIQUE (created_by, idempotency_key);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_created_by_name_key UNIQUE (created_by, name);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_handle_key UNIQUE (handle);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_checkpoints
    ADD CONSTRAINT workflow_checkpoints_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.workflow_checkpoints
    ADD CONSTRAINT workflow_checkpoints_task_id_key UNIQUE (task_id);
ALTER TABLE ONLY public.workflow_effects
    ADD CONSTRAINT workflow_effects_pkey PRIMARY KEY (run_id, key);
ALTER TABLE ONLY public.workflow_history
    ADD CONSTRAINT workflow_history_pkey PRIMARY KEY (run_id, sequence);
CREATE INDEX agent_tokens_by_end ON public.agent_tokens USING btree (expires_at);
CREATE INDEX agent_tokens_by_job ON public.agent_tokens USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX agent_tokens_by_user ON public.agent_tokens USING btree (user_id, id);
CREATE INDEX api_tokens_by_user ON public.api_tokens USING btree (user_id, id);
CREATE INDEX events_by_task ON public.events USING btree (task_id, txid, seq);
CREATE INDEX jobs_by_task ON public.jobs USING btree (task_id, id);
CREATE INDEX jobs_open ON public.jobs USING btree (node_id, id) WHERE (NOT closed);
CREATE INDEX mcp_calls_by_project ON public.mcp_tool_call_audit_log USING btree (project_id, created_at, id) WHERE (project_id IS NOT NULL);
CREATE INDEX mcp_calls_by_task ON public.mcp_tool_call_audit_log USING btree (task_id, created_at, id) WHERE (task_id IS NOT NULL);
CREATE INDEX mcp_calls_by_time ON public.mcp_tool_call_audit_log USING btree (created_at, id);
CREATE INDEX mcp_calls_by_tool ON public.mcp_tool_call_audit_log USING btree (tool_name, created_at, id);
CREATE INDEX mcp_calls_by_user ON public.mcp_tool_call_audit_log USING btree (user_id, created_at, id) WHERE (user_id IS NOT NULL);
CREATE INDEX mcp_tools_by_server ON public.mcp_tools USING btree (server_id);
CREATE INDEX projects_by_owner ON public.projects USING btree (owner_id, id);
CREATE UNIQUE INDEX projects_one_default ON public.projects USING btree (owner_id) WHERE is_default;
CREATE INDEX refresh_sessions_by_user ON public.refresh_sessions USING btree (user_id);
CREATE INDEX runs_by_task ON public.runs USING btree (task_id, id);
CREATE INDEX runs_runnable ON public.runs USING btree (id) WHERE runnable;
CREATE INDEX task_dependencies_reverse ON public.task_dependencies USING btree (depends_on_task_id);
CREATE INDEX tasks_by_creator ON public.tasks USING btree (created_by, id);
CREATE INDEX tasks_by_project ON public.tasks USING btree (project_id, id);
CREATE INDEX tasks_open ON public.tasks USING btree (status) WHERE (NOT closed);
CREATE INDEX workflow_checkpoints_by_time ON public.workflow_checkpoints USING btree (updated_at);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id);
ALTER TABLE ONLY public.agent_tokens
    ADD CONSTRAINT agent_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.api_tokens
    ADD CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.job_logs
    ADD CONSTRAINT job_logs_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_node_id_fkey FOREIGN KEY (node_id) REFERENCES public.nodes(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pinned_node_id_fkey FOREIGN KEY (pinned_node_id) REFERENCES public.nodes(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.mcp_servers
    ADD CONSTRAINT mcp_servers_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.mcp_tools
    ADD CONSTRAINT mcp_tools_server_id_fkey FOREIGN KEY (server_id) REFERENCES public.mcp_servers(id);
ALTER TABLE ONLY public.password_credentials
    ADD CONSTRAINT password_credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT projects_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.refresh_sessions
    ADD CONSTRAINT refresh_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.spent_refresh_tokens
    ADD CONSTRAINT spent_refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.refresh_sessions(id);
ALTER TABLE ONLY public.task_artifacts
    ADD CONSTRAINT task_artifacts_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.jobs(id);
ALTER TABLE ONLY public.task_artifacts
    ADD CONSTRAINT task_artifacts_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.task_dependencies
    ADD CONSTRAINT task_dependencies_depends_on_task_id_fkey FOREIGN KEY (depends_on_task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.task_dependencies
    ADD CONSTRAINT task_dependencies_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.task_workflow_leases
    ADD CONSTRAINT task_workflow_leases_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.task_workflow_leases
    ADD CONSTRAINT task_workflow_leases_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_project_id_fkey FOREIGN KEY (project_id) REFERENCES public.projects(id);
ALTER TABLE ONLY public.workflow_checkpoints
    ADD CONSTRAINT workflow_checkpoints_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.workflow_checkpoints
    ADD CONSTRAINT workflow_checkpoints_task_id_fkey FOREIGN KEY (task_id) REFERENCES public.tasks(id);
ALTER TABLE ONLY public.workflow_effects
    ADD CONSTRAINT workflow_effects_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
ALTER TABLE ONLY public.workflow_history
    ADD CONSTRAINT workflow_history_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id);
