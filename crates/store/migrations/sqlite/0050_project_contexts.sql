-- Contexts of projects by the hash of the tree that they were derived from.
CREATE TABLE project_contexts (
    project_id TEXT NOT NULL REFERENCES projects (id),
    tree TEXT NOT NULL,
    rules INTEGER NOT NULL,
    context TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, tree)
);
