-- Who changed what is read by what was changed, newest first.
CREATE INDEX preference_audit_log_by_key ON preference_audit_log (key, scope_type, scope_id, id);
CREATE INDEX system_settings_audit_log_by_key ON system_settings_audit_log (key, id);
CREATE INDEX access_control_audit_log_by_resource ON access_control_audit_log (resource_type, resource, id);
