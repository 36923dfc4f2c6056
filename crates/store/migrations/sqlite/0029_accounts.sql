-- When a token was last used, within a few minutes; absent if it never was.
ALTER TABLE api_tokens ADD COLUMN last_used_at INTEGER;
