-- Conversations: threads of a user in a project, what was said in them without its secrets, and one
-- record for each request that says how it went and never what it said.

-- The thread with the highest number is the one that goes on; the others are its past.
CREATE TABLE chat_threads (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    project_id uuid NOT NULL REFERENCES projects (id),
    number bigint NOT NULL,
    title text,
    created_at timestamptz NOT NULL,
    UNIQUE (user_id, project_id, number)
);
CREATE INDEX chat_threads_by_user ON chat_threads (user_id, id);

CREATE TABLE chat_messages (
    id uuid PRIMARY KEY,
    thread_id uuid NOT NULL REFERENCES chat_threads (id),
    role text NOT NULL,
    content text NOT NULL,
    -- True if the answer was cut off: by its reader, a timeout or a fault.
    is_partial boolean NOT NULL,
    metadata json NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX chat_messages_by_thread ON chat_messages (thread_id, id);

CREATE TABLE chat_audit_log (
    id uuid PRIMARY KEY,
    created_at timestamptz NOT NULL,
    user_id uuid NOT NULL,
    project_id uuid,
    thread_id uuid,
    model text NOT NULL,
    outcome text NOT NULL,
    error_code text,
    redaction_applied boolean NOT NULL,
    redaction_kinds json NOT NULL,
    duration_ms bigint NOT NULL,
    request_id text NOT NULL
);
CREATE INDEX chat_audit_log_by_user ON chat_audit_log (user_id, id);
