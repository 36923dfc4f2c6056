-- Whether something happened that a claimed request has to look at: it is due again as soon as its claim is released.
ALTER TABLE work_requests ADD COLUMN is_woken INTEGER NOT NULL DEFAULT 0;
