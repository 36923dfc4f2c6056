-- The bytes that the files of each user and each project take. Triggers count them in the transaction that writes or
-- deletes a file, for processes of the previous release too. Each attachment, each file that a tool stored and each output
-- of a job counts with its size, at least 4096 bytes; the newest output at a path (task_artifacts with a job) is the
-- same file as the output of its job, and counts there.
CREATE TABLE storage_usage (
    subject_id TEXT PRIMARY KEY, -- a user or a project
    held_bytes INTEGER NOT NULL
);

CREATE TRIGGER storage_artifact_added AFTER INSERT ON task_artifacts WHEN NEW.job_id IS NULL
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT created_by, max(NEW.size_bytes, 4096) FROM tasks WHERE id = NEW.task_id
    UNION ALL SELECT project_id, max(NEW.size_bytes, 4096) FROM tasks WHERE id = NEW.task_id
    ON CONFLICT (subject_id) DO UPDATE SET held_bytes = held_bytes + excluded.held_bytes;
END;
CREATE TRIGGER storage_artifact_removed AFTER DELETE ON task_artifacts WHEN OLD.job_id IS NULL
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (SELECT created_by FROM tasks WHERE id = OLD.task_id
                         UNION ALL SELECT project_id FROM tasks WHERE id = OLD.task_id);
END;
CREATE TRIGGER storage_artifact_changed AFTER UPDATE ON task_artifacts
    WHEN NEW.job_id IS NULL OR OLD.job_id IS NULL
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT created_by, 0 FROM tasks WHERE id = NEW.task_id
    UNION ALL SELECT project_id, 0 FROM tasks WHERE id = NEW.task_id
    ON CONFLICT (subject_id) DO NOTHING;
    UPDATE storage_usage SET held_bytes = held_bytes
        + CASE WHEN NEW.job_id IS NULL THEN max(NEW.size_bytes, 4096) ELSE 0 END
        - CASE WHEN OLD.job_id IS NULL THEN max(OLD.size_bytes, 4096) ELSE 0 END
    WHERE subject_id IN (SELECT created_by FROM tasks WHERE id = NEW.task_id
                         UNION ALL SELECT project_id FROM tasks WHERE id = NEW.task_id);
END;
CREATE TRIGGER storage_output_added AFTER INSERT ON job_outputs
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT t.created_by, max(NEW.size_bytes, 4096) FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
    UNION ALL
    SELECT t.project_id, max(NEW.size_bytes, 4096) FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
    ON CONFLICT (subject_id) DO UPDATE SET held_bytes = held_bytes + excluded.held_bytes;
END;
CREATE TRIGGER storage_output_removed AFTER DELETE ON job_outputs
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (
        SELECT t.created_by FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = OLD.job_id
        UNION ALL SELECT t.project_id FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = OLD.job_id);
END;
CREATE TRIGGER storage_output_changed AFTER UPDATE ON job_outputs
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes + max(NEW.size_bytes, 4096) - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (
        SELECT t.created_by FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
        UNION ALL SELECT t.project_id FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id);
END;

INSERT INTO storage_usage (subject_id, held_bytes)
SELECT subject_id, sum(max(size_bytes, 4096)) FROM (
    SELECT t.created_by AS subject_id, a.size_bytes FROM task_artifacts a JOIN tasks t ON t.id = a.task_id
    WHERE a.job_id IS NULL
    UNION ALL SELECT t.project_id, a.size_bytes FROM task_artifacts a JOIN tasks t ON t.id = a.task_id
    WHERE a.job_id IS NULL
    UNION ALL SELECT t.created_by, o.size_bytes
    FROM job_outputs o JOIN jobs j ON j.id = o.job_id JOIN tasks t ON t.id = j.task_id
    UNION ALL SELECT t.project_id, o.size_bytes
    FROM job_outputs o JOIN jobs j ON j.id = o.job_id JOIN tasks t ON t.id = j.task_id)
GROUP BY subject_id;

-- The collector of unused content looks up files by their content.
CREATE INDEX task_artifacts_by_content ON task_artifacts (checksum_sha256);
CREATE INDEX job_outputs_by_content ON job_outputs (checksum_sha256);

-- One row for each directory of blobs. A transaction that adds a file shares the lock of its row until it ends; the collector
-- takes it alone.
CREATE TABLE blob_groups (prefix TEXT PRIMARY KEY);
INSERT INTO blob_groups
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 255)
SELECT printf('%02x', n) FROM numbers;

-- Identifies this database in the directory of blobs: content of another database is not collected.
CREATE TABLE blob_directory (database_id TEXT NOT NULL);
INSERT INTO blob_directory VALUES (lower(hex(randomblob(16))));

-- A task whose attachments were deleted cannot run again.
ALTER TABLE tasks ADD COLUMN attachments_deleted INTEGER NOT NULL DEFAULT 0;
