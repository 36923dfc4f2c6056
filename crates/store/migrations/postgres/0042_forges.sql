-- The forges of projects' repositories. Their secrets are sealed values.
CREATE TABLE project_forges (
    id uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES projects (id),
    -- The repository as tasks name it.
    repository_url text NOT NULL,
    settings json NOT NULL,
    has_webhook boolean NOT NULL,
    -- Issues that a webhook submits belong to this user.
    updated_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (project_id, repository_url)
);

-- Deliveries of webhooks that were acted on, by the digest of their body.
CREATE TABLE forge_deliveries (
    forge_id uuid NOT NULL REFERENCES project_forges (id) ON DELETE CASCADE,
    body_sha256 text NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (forge_id, body_sha256)
);
CREATE INDEX forge_deliveries_received ON forge_deliveries (forge_id, received_at);

-- Requests whose pull request is followed.
CREATE INDEX work_requests_in_review ON work_requests (task_id) WHERE phase = 'in_review';
