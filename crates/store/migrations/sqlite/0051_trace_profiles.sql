-- The profile that an event was recorded in; absent for events of earlier versions.
ALTER TABLE trace_events ADD COLUMN profile_id TEXT;
