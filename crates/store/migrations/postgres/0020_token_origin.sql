-- Which conversation a token of an agent is for, and the trace that its calls are found by.
ALTER TABLE agent_tokens ADD COLUMN thread_id uuid;
ALTER TABLE agent_tokens ADD COLUMN trace_id uuid;
