-- What the request with an idempotency key asked for, as a hash: the same key with another request is an error.
ALTER TABLE tasks ADD COLUMN request_sha256 text;
