-- How much is kept of a command in a workspace and of what came of it; null until that is counted, which it is once
-- the command has ended.
ALTER TABLE sandbox_execs ADD COLUMN kept_bytes bigint;

-- How often a run of a schedule was given back by an orchestrator that stopped in an orderly way. It counts neither
-- as a failure nor as lost.
ALTER TABLE schedule_runs ADD COLUMN given_back bigint NOT NULL DEFAULT 0;
