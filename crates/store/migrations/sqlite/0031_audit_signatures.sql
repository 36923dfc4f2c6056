-- Signatures by a key that is not in the database. Absent in rows of earlier versions until the first start with this one.
ALTER TABLE mcp_audit_chains ADD COLUMN signature BLOB;
ALTER TABLE mcp_audit_anchors ADD COLUMN signature BLOB;

-- The logs below form one chain. A row is sealed shortly after it was written; its columns are absent until then.
ALTER TABLE auth_audit_log ADD COLUMN seq INTEGER;
ALTER TABLE auth_audit_log ADD COLUMN prev_hash BLOB;
ALTER TABLE auth_audit_log ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX auth_audit_log_by_seq ON auth_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX auth_audit_log_unsealed ON auth_audit_log (id) WHERE seq IS NULL;
ALTER TABLE access_control_audit_log ADD COLUMN seq INTEGER;
ALTER TABLE access_control_audit_log ADD COLUMN prev_hash BLOB;
ALTER TABLE access_control_audit_log ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX access_control_audit_log_by_seq ON access_control_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX access_control_audit_log_unsealed ON access_control_audit_log (id) WHERE seq IS NULL;
ALTER TABLE system_settings_audit_log ADD COLUMN seq INTEGER;
ALTER TABLE system_settings_audit_log ADD COLUMN prev_hash BLOB;
ALTER TABLE system_settings_audit_log ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX system_settings_audit_log_by_seq ON system_settings_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX system_settings_audit_log_unsealed ON system_settings_audit_log (id) WHERE seq IS NULL;
ALTER TABLE preference_audit_log ADD COLUMN seq INTEGER;
ALTER TABLE preference_audit_log ADD COLUMN prev_hash BLOB;
ALTER TABLE preference_audit_log ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX preference_audit_log_by_seq ON preference_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX preference_audit_log_unsealed ON preference_audit_log (id) WHERE seq IS NULL;
ALTER TABLE chat_audit_log ADD COLUMN seq INTEGER;
ALTER TABLE chat_audit_log ADD COLUMN prev_hash BLOB;
ALTER TABLE chat_audit_log ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX chat_audit_log_by_seq ON chat_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX chat_audit_log_unsealed ON chat_audit_log (id) WHERE seq IS NULL;
ALTER TABLE egress_audit ADD COLUMN seq INTEGER;
ALTER TABLE egress_audit ADD COLUMN prev_hash BLOB;
ALTER TABLE egress_audit ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX egress_audit_by_seq ON egress_audit (seq) WHERE seq IS NOT NULL;
CREATE INDEX egress_audit_unsealed ON egress_audit (id) WHERE seq IS NULL;
