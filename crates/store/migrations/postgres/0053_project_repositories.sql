-- The repository of a project, and the name of the credential for its host.
ALTER TABLE projects ADD COLUMN repository_url text;
ALTER TABLE projects ADD COLUMN default_branch text;
ALTER TABLE projects ADD COLUMN repository_credential text;
