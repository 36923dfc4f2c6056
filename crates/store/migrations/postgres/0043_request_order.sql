-- The order of the attempts of a request, which no clock decides.
ALTER TABLE unit_attempts ADD COLUMN sequence BIGINT NOT NULL DEFAULT 0;
UPDATE unit_attempts SET sequence = (SELECT count(*) FROM unit_attempts earlier
    WHERE earlier.task_id = unit_attempts.task_id
    AND (earlier.created_at, earlier.child_task_id)
        <= (unit_attempts.created_at, unit_attempts.child_task_id));

-- What the calls of a task and its child tasks cost.
CREATE INDEX brain_calls_by_task ON brain_calls (task_id) WHERE task_id IS NOT NULL;
