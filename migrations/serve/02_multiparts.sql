-- Multipart uploads in progress.

-- A multipart upload, for as long as the object store may hold parts of it that must be completed or aborted: `due_at`
-- is when its owner has to check it. `attempt` fences its completion.
CREATE TABLE serve.multiparts (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  object_key    text NOT NULL,
  upload_id     text,
  writer        text,
  size_bytes    bigint NOT NULL CHECK (size_bytes > 0),
  part_bytes    bigint NOT NULL CHECK (part_bytes > 0),
  attempt       bigint NOT NULL DEFAULT 0,
  due_at        timestamptz NOT NULL,
  checksums     bytea CHECK (octet_length(checksums) % 16 = 0), -- MD5 of each part, as its sender said when completing it
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.artifacts (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((upload_id IS NULL) = (writer IS NULL))
);
CREATE INDEX multiparts_due ON serve.multiparts (due_at);
-- Whose upload it is that the object store lists as open.
CREATE UNIQUE INDEX multiparts_upload ON serve.multiparts (upload_id) WHERE upload_id IS NOT NULL;
SELECT platform.enable_row_level_security('serve.multiparts');
GRANT SELECT, INSERT, UPDATE, DELETE ON serve.multiparts TO touchline_app;
GRANT SELECT (tenant_id, artifact_hash, due_at, upload_id, object_key) ON serve.multiparts TO touchline_system; -- which ones are due
