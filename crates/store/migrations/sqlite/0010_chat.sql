-- Conversations: threads of a user in a project, what was said in them without its secrets, and one
-- record for each request that says how it went and never what it said.

-- The thread with the highest number is the one that goes on; the others are its past.
CREATE TABLE chat_threads (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    number INTEGER NOT NULL,
    title TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, project_id, number)
);
CREATE INDEX chat_threads_by_user ON chat_threads (user_id, id);

CREATE TABLE chat_messages (
    id TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL REFERENCES chat_threads (id),
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    -- True if the answer was cut off: by its reader, a timeout or a fault.
    is_partial INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX chat_messages_by_thread ON chat_messages (thread_id, id);

CREATE TABLE chat_audit_log (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    project_id TEXT,
    thread_id TEXT,
    model TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error_code TEXT,
    redaction_applied INTEGER NOT NULL,
    redaction_kinds TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    request_id TEXT NOT NULL
);
CREATE INDEX chat_audit_log_by_user ON chat_audit_log (user_id, id);
