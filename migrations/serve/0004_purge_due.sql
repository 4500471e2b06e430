-- Since when the other planes have been asked to delete what they hold of a deleted artifact.
ALTER TABLE serve.artifacts ADD COLUMN purge_due_at timestamptz;
CREATE INDEX artifacts_to_purge ON serve.artifacts (deleted_at) WHERE status = 'deleted' AND purge_due_at IS NULL;
GRANT SELECT (deleted_at, purge_due_at) ON serve.artifacts TO touchline_system;
