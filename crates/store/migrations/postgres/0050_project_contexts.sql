-- Contexts of projects by the hash of the tree that they were derived from.
CREATE TABLE project_contexts (
    project_id uuid NOT NULL REFERENCES projects (id),
    tree text NOT NULL,
    rules bigint NOT NULL,
    context json NOT NULL,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, tree)
);
