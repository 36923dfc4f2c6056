-- The process that works under a node's name; null once it was stopped.
ALTER TABLE nodes ADD COLUMN incarnation_id TEXT;
-- The process that a job was handed to, or its successor: nobody else reports on it.
ALTER TABLE jobs ADD COLUMN incarnation_id TEXT;
CREATE INDEX jobs_held ON jobs (incarnation_id) WHERE NOT closed OR status = 'lease_expired';
