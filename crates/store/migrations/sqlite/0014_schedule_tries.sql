-- How often the work for a due time failed, apart from how often it was tried while nobody was there to do it,
-- and when its tasks were made: all of them at once, so that whoever takes the work up again knows.
ALTER TABLE schedule_runs ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE schedule_runs ADD COLUMN made_at INTEGER;
