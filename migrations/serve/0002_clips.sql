-- Clips: parts of videos that are artifacts of their own. The record is made in one transaction with its artifact, and the
-- same range of the same video is one clip for as long as it is not deleted and has not failed: the index says so.

CREATE TABLE serve.clips (
  tenant_id        uuid NOT NULL,
  artifact_hash    text COLLATE "C" NOT NULL,
  id               uuid NOT NULL,
  source_hash      text COLLATE "C" NOT NULL,
  stream_id        uuid, -- of a clip of a stream
  title            text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  description      text NOT NULL CHECK (char_length(description) <= 2000),
  start_ms         bigint NOT NULL CHECK (start_ms >= 0), -- of the source's media time, as the padding
  end_ms           bigint NOT NULL,
  padding_ms       bigint NOT NULL CHECK (padding_ms >= 0),
  shown_start_ms   bigint NOT NULL, -- with its padding as far as the source goes; exact once it was cut
  shown_end_ms     bigint NOT NULL,
  requested_params jsonb NOT NULL, -- as it was sent
  created_at       timestamptz NOT NULL,
  retention_until  timestamptz NOT NULL,
  failed           boolean NOT NULL DEFAULT false,
  deleted_at       timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, source_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK (start_ms < end_ms)
);
CREATE UNIQUE INDEX clips_same ON serve.clips (tenant_id, source_hash, start_ms, end_ms, padding_ms)
 WHERE deleted_at IS NULL AND NOT failed;
CREATE INDEX clips_listing ON serve.clips (tenant_id, created_at DESC, artifact_hash DESC) WHERE deleted_at IS NULL;
CREATE INDEX clips_of_source ON serve.clips (tenant_id, source_hash, created_at DESC, artifact_hash DESC)
 WHERE deleted_at IS NULL;
SELECT platform.raise_wall('serve.clips');
GRANT SELECT, INSERT, UPDATE ON serve.clips TO touchline_app;
GRANT SELECT ON serve.clips TO touchline_readonly;

-- How large a clip is shows when it was cut.
ALTER TABLE serve.artifacts ALTER COLUMN size_bytes DROP NOT NULL;
ALTER TABLE serve.artifacts ADD CHECK (size_bytes IS NOT NULL OR (artifact_type = 'clip' AND NOT synced));

-- Which clips are over their time.
CREATE INDEX artifacts_clip_expiry ON serve.artifacts (retention_until)
 WHERE artifact_type = 'clip' AND deleted_at IS NULL;
GRANT SELECT (tenant_id, artifact_hash, artifact_type, retention_until, deleted_at) ON serve.artifacts
   TO touchline_system;
