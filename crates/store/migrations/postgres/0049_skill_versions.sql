-- The texts that a skill had. A release that does not write them is caught up with at the next change.
CREATE TABLE skill_versions (
    skill_id uuid NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    version bigint NOT NULL,
    name text NOT NULL,
    content text NOT NULL,
    content_sha256 text NOT NULL,
    -- Null: the text of a release.
    author_id uuid REFERENCES users (id),
    reason text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (skill_id, version)
);
INSERT INTO skill_versions (skill_id, version, name, content, content_sha256, author_id, created_at)
    SELECT id, version, name, content, content_sha256, updated_by, updated_at FROM skills;

-- How the scan judged the text of a skill. A row about another text, or of other rules, does not count.
CREATE TABLE skill_scans (
    skill_id uuid PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
    content_sha256 text NOT NULL,
    -- The fingerprint of the rules.
    rules text NOT NULL,
    -- Why the skill is in quarantine, as JSON; null if it passed.
    findings text,
    -- The rules that an administrator released this text from, as JSON.
    released text,
    scanned_at timestamptz NOT NULL
);
CREATE INDEX skill_scans_quarantined ON skill_scans (skill_id) WHERE findings IS NOT NULL;
