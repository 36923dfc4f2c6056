-- What agents recorded about their work. No foreign keys: an event stays when what it is about is gone, until it is too old.
CREATE TABLE trace_events (
    id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    -- The kind of the handoff in which it was recorded.
    handoff TEXT,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    step_index INTEGER,
    stop TEXT,
    fields TEXT NOT NULL,
    -- By the clock of the agent.
    at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL
);
CREATE INDEX trace_events_by_trace ON trace_events (trace_id, id);
CREATE INDEX trace_events_by_time ON trace_events (recorded_at);

-- A trace is read from the rows that carry its id.
CREATE INDEX runs_by_trace ON runs (trace_id);
CREATE INDEX brain_calls_by_trace ON brain_calls (trace_id);
CREATE INDEX pm_decisions_by_trace ON pm_decisions (trace_id);
CREATE INDEX chat_audit_log_by_request ON chat_audit_log (request_id);
