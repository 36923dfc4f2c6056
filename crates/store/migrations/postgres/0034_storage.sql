-- The bytes that the files of each user and each project take. Triggers count them in the transaction that writes or
-- deletes a file, for processes of the previous release too. Each attachment, each file that a tool stored and each output
-- of a job counts with its size, at least 4096 bytes; the newest output at a path (task_artifacts with a job) is the
-- same file as the output of its job, and counts there.
CREATE TABLE storage_usage (
    subject_id uuid PRIMARY KEY, -- a user or a project
    held_bytes bigint NOT NULL
);

-- The user's row is locked before the project's row, by every writer.
CREATE FUNCTION storage_add(task uuid, bytes bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO storage_usage AS u (subject_id, held_bytes)
    SELECT s.id, bytes FROM tasks t CROSS JOIN LATERAL (VALUES (1, t.created_by), (2, t.project_id)) AS s (place, id)
    WHERE t.id = task ORDER BY s.place
    ON CONFLICT (subject_id) DO UPDATE SET held_bytes = u.held_bytes + excluded.held_bytes
$$;

CREATE FUNCTION storage_artifacts_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM storage_add(task_id, CAST(sum(greatest(size_bytes, 4096)) AS bigint))
    FROM added_rows WHERE job_id IS NULL GROUP BY task_id ORDER BY task_id;
    RETURN NULL;
END $$;
CREATE FUNCTION storage_artifacts_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM storage_add(task_id, CAST(-sum(greatest(size_bytes, 4096)) AS bigint))
    FROM removed_rows WHERE job_id IS NULL GROUP BY task_id ORDER BY task_id;
    RETURN NULL;
END $$;
CREATE FUNCTION storage_outputs_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM storage_add(j.task_id, CAST(sum(greatest(o.size_bytes, 4096)) AS bigint))
    FROM added_rows o JOIN jobs j ON j.id = o.job_id GROUP BY j.task_id ORDER BY j.task_id;
    RETURN NULL;
END $$;
CREATE FUNCTION storage_outputs_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM storage_add(j.task_id, CAST(-sum(greatest(o.size_bytes, 4096)) AS bigint))
    FROM removed_rows o JOIN jobs j ON j.id = o.job_id GROUP BY j.task_id ORDER BY j.task_id;
    RETURN NULL;
END $$;

CREATE TRIGGER storage_on_insert AFTER INSERT ON task_artifacts REFERENCING NEW TABLE AS added_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_artifacts_added();
CREATE TRIGGER storage_on_delete AFTER DELETE ON task_artifacts REFERENCING OLD TABLE AS removed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_artifacts_removed();
CREATE TRIGGER storage_on_update_added AFTER UPDATE ON task_artifacts REFERENCING NEW TABLE AS added_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_artifacts_added();
CREATE TRIGGER storage_on_update_removed AFTER UPDATE ON task_artifacts REFERENCING OLD TABLE AS removed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_artifacts_removed();
CREATE TRIGGER storage_on_insert AFTER INSERT ON job_outputs REFERENCING NEW TABLE AS added_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_outputs_added();
CREATE TRIGGER storage_on_delete AFTER DELETE ON job_outputs REFERENCING OLD TABLE AS removed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_outputs_removed();
CREATE TRIGGER storage_on_update_added AFTER UPDATE ON job_outputs REFERENCING NEW TABLE AS added_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_outputs_added();
CREATE TRIGGER storage_on_update_removed AFTER UPDATE ON job_outputs REFERENCING OLD TABLE AS removed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION storage_outputs_removed();

INSERT INTO storage_usage (subject_id, held_bytes)
SELECT s.id, sum(greatest(f.size_bytes, 4096))
FROM (SELECT task_id, size_bytes FROM task_artifacts WHERE job_id IS NULL
      UNION ALL SELECT j.task_id, o.size_bytes FROM job_outputs o JOIN jobs j ON j.id = o.job_id) f
JOIN tasks t ON t.id = f.task_id
CROSS JOIN LATERAL (VALUES (t.created_by), (t.project_id)) AS s (id)
GROUP BY s.id;

-- The collector of unused content looks up files by their content.
CREATE INDEX task_artifacts_by_content ON task_artifacts (checksum_sha256);
CREATE INDEX job_outputs_by_content ON job_outputs (checksum_sha256);

-- One row for each directory of blobs. A transaction that adds a file shares the lock of its row until it ends; the collector
-- takes it alone.
CREATE TABLE blob_groups (prefix text PRIMARY KEY);
INSERT INTO blob_groups SELECT lpad(to_hex(n), 2, '0') FROM generate_series(0, 255) AS n;

-- Identifies this database in the directory of blobs: content of another database is not collected.
CREATE TABLE blob_directory (database_id text NOT NULL);
INSERT INTO blob_directory VALUES (CAST(gen_random_uuid() AS text));

-- A task whose attachments were deleted cannot run again.
ALTER TABLE tasks ADD COLUMN attachments_deleted boolean NOT NULL DEFAULT false;
