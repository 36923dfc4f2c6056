-- What agents recorded about their work. No foreign keys: an event stays when what it is about is gone, until it is too old.
CREATE TABLE trace_events (
    id uuid PRIMARY KEY,
    trace_id uuid NOT NULL,
    user_id uuid NOT NULL,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    -- The kind of the handoff in which it was recorded.
    handoff text,
    actor text NOT NULL,
    kind text NOT NULL,
    step_index bigint,
    stop text,
    fields json NOT NULL,
    -- By the clock of the agent.
    at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL
);
CREATE INDEX trace_events_by_trace ON trace_events (trace_id, id);
CREATE INDEX trace_events_by_time ON trace_events (recorded_at);

-- A trace is read from the rows that carry its id.
CREATE INDEX runs_by_trace ON runs (trace_id);
CREATE INDEX brain_calls_by_trace ON brain_calls (trace_id);
CREATE INDEX pm_decisions_by_trace ON pm_decisions (trace_id);
CREATE INDEX chat_audit_log_by_request ON chat_audit_log (request_id);
