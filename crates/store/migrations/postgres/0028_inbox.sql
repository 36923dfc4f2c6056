-- Messages to the project manager only: why a person has to answer it, and who answered.
ALTER TABLE agent_messages ADD COLUMN needs_person text;
ALTER TABLE agent_messages ADD COLUMN answered_by text;

-- By what a job was given to its node, in words, written when it was.
ALTER TABLE jobs ADD COLUMN placed_by text;
