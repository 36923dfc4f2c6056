-- A task that is shared with its reader is found by its name among those of the project.
CREATE INDEX tasks_by_project_name ON tasks (project_id, name);
