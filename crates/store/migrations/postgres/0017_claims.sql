-- Reports are claimed by one orchestrator at a time. The number of turns tells holders of a claim apart: who has an
-- older one writes nothing more. What was begun is counted before it begins, so that a report that ends whoever
-- deals with it is given up after a few times, with the reason.
ALTER TABLE agent_messages ADD COLUMN claimed_until timestamptz;
ALTER TABLE agent_messages ADD COLUMN turns bigint NOT NULL DEFAULT 0;
ALTER TABLE agent_messages ADD COLUMN begun bigint NOT NULL DEFAULT 0;
ALTER TABLE agent_messages ADD COLUMN given_up text;

-- How often a run of a schedule was put off because nobody was there. What was claimed, has not failed and was not
-- put off was left behind by somebody who died.
ALTER TABLE schedule_runs ADD COLUMN put_off bigint NOT NULL DEFAULT 0;
UPDATE schedule_runs SET put_off = attempts - failures WHERE ended_at IS NULL;
