-- The group whose members see the work of a project.
ALTER TABLE projects ADD COLUMN group_id uuid REFERENCES user_groups (id);
CREATE INDEX projects_by_group ON projects (group_id) WHERE group_id IS NOT NULL;
