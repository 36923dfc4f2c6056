-- What the agents of a project may use. The default profile of a project has the id of the project, so that it is known
-- before its row exists.
CREATE TABLE profiles (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    -- Tools, hosts, models, limits and memory.
    spec TEXT NOT NULL,
    -- Incremented by every change; starts at 1.
    revision INTEGER NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
);
CREATE UNIQUE INDEX profiles_default ON profiles (project_id) WHERE is_default;
INSERT INTO profiles (id, project_id, name, is_default, spec, revision, created_by, created_at, updated_at)
    SELECT id, id, 'default', 1, '{}', 1, owner_id, created_at, created_at FROM projects;

-- NULL: the default profile of the project.
ALTER TABLE tasks ADD COLUMN profile_id TEXT;
CREATE INDEX tasks_by_profile ON tasks (profile_id) WHERE profile_id IS NOT NULL;
-- NULL: a token of an earlier version without a project.
ALTER TABLE agent_tokens ADD COLUMN profile_id TEXT;
UPDATE agent_tokens SET profile_id = project_id WHERE project_id IS NOT NULL;
CREATE INDEX agent_tokens_by_profile ON agent_tokens (profile_id);
