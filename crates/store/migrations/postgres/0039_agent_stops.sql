-- The ending of a job that the orchestrator stops for a reason of its own; null if a user cancels it.
ALTER TABLE jobs ADD COLUMN stop_ending json;
-- The last sign of life of the job's agent; null for jobs without an agent. Written at intervals.
ALTER TABLE jobs ADD COLUMN last_sign_at timestamptz;
CREATE INDEX jobs_by_sign ON jobs (last_sign_at) WHERE last_sign_at IS NOT NULL AND NOT closed;

-- The agent of a job ends with it.
CREATE INDEX task_agents_by_job ON task_agents (job_id) WHERE NOT closed;

-- When an instruction was delivered again because the agent had not acknowledged it.
ALTER TABLE agent_messages ADD COLUMN redelivered_at timestamptz;

-- The sender of messages that are sent with the token.
ALTER TABLE agent_tokens ADD COLUMN role text;
ALTER TABLE agent_tokens ADD COLUMN work_unit_id text;
ALTER TABLE agent_tokens ADD COLUMN profile text;
ALTER TABLE agent_tokens ADD COLUMN profile_revision bigint;

-- Free disk, load average and available memory of the machine, as of the last poll.
ALTER TABLE nodes ADD COLUMN machine_load json;
