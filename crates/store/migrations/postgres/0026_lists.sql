-- Lists and streams read the rows that they give out, and no others.

-- Tasks by status: of everybody, of a user, of a project.
CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_creator_status ON tasks (created_by, status, id);
CREATE INDEX tasks_by_project_status ON tasks (project_id, status, id);

-- Runs that are open, and runs by how they ended.
CREATE INDEX runs_open ON runs (id) WHERE runnable;
CREATE INDEX runs_ended ON runs (status, id) WHERE NOT runnable;

-- The events that a user may see.
CREATE INDEX events_by_owner ON events (owner_id, txid, seq);
