-- Groups of users: preferences, credentials, access rules and skills may be a group's.
CREATE TABLE user_groups (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    created_by TEXT REFERENCES users (id),
    created_at INTEGER NOT NULL
);

CREATE TABLE user_group_members (
    group_id TEXT NOT NULL REFERENCES user_groups (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    added_by TEXT REFERENCES users (id),
    added_at INTEGER NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX user_group_members_by_user ON user_group_members (user_id, group_id);

-- The group of a group's skill.
ALTER TABLE skills ADD COLUMN group_id TEXT REFERENCES user_groups (id);
-- Who wrote it last; null in the system's own: the text is the release's.
ALTER TABLE skills ADD COLUMN updated_by TEXT REFERENCES users (id);
CREATE INDEX skills_by_group ON skills (group_id, id) WHERE group_id IS NOT NULL;
