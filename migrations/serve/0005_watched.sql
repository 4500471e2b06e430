-- The videos of goals: what watch keeps becomes an artifact, what it drops is gone for good. And what every artifact gets by
-- it: uploads end when their time is over, unless they are pinned, and their originals go with the purge.

ALTER TABLE serve.artifacts
  ADD COLUMN pinned boolean NOT NULL DEFAULT false,      -- kept until unpinned, whatever its time
  ADD COLUMN is_final boolean NOT NULL DEFAULT false,    -- its deletion is not undone, so its purge waits for nothing
  ADD COLUMN others_gone_at timestamptz,                 -- the other planes hold nothing of it any more
  ADD COLUMN purged_at timestamptz;                      -- nor does the object store

CREATE INDEX artifacts_final ON serve.artifacts (deleted_at)
 WHERE status = 'deleted' AND purge_due_at IS NULL AND is_final;
CREATE INDEX artifacts_originals_to_purge ON serve.artifacts (others_gone_at)
 WHERE status = 'deleted' AND others_gone_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX artifacts_upload_expiry ON serve.artifacts (retention_until)
 WHERE artifact_type = 'upload' AND deleted_at IS NULL AND NOT pinned;
GRANT SELECT (pinned, is_final, others_gone_at, purged_at) ON serve.artifacts TO touchline_system;

-- What watch said of a video, also when it comes in another order: one that was dropped stays so.
CREATE TABLE serve.watched (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  object_key    text, -- where watch has it; null: it was never told
  pinned        boolean NOT NULL DEFAULT false,
  dropped_at    timestamptz,
  PRIMARY KEY (tenant_id, artifact_hash)
);
SELECT platform.raise_wall('serve.watched');
GRANT SELECT, INSERT, UPDATE ON serve.watched TO touchline_app, touchline_system;
GRANT SELECT ON serve.watched TO touchline_readonly;
