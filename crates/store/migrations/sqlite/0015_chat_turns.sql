-- The turn that a message belongs to, where later turns may name that one: found without reading the
-- rest of the thread.
ALTER TABLE chat_messages ADD COLUMN turn_id TEXT;
CREATE INDEX chat_messages_by_turn ON chat_messages (thread_id, turn_id, id)
    WHERE turn_id IS NOT NULL;
