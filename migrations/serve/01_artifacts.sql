-- Artifacts: their identities, their business records (uploads, clips), their state, and multipart uploads in progress.
-- Times are passed in by the product; every change is guarded by the state that it leaves and raises `revision`.

GRANT USAGE ON SCHEMA serve TO touchline_app, touchline_readonly, touchline_system, touchline_definer;

-- One row for each artifact of any kind: its ids are unique across kinds and tenants.
CREATE TABLE serve.identities (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL CHECK (artifact_hash ~ '^[0-9a-f]{32}$'),
  playback_id   text COLLATE "C" NOT NULL CHECK (playback_id ~ '^[a-z0-9]{16}$'),
  internal_name text COLLATE "C" NOT NULL CHECK (internal_name ~ '^[a-z0-9]{32}$'),
  artifact_type text NOT NULL CHECK (artifact_type IN ('clip', 'dvr', 'upload')),
  user_id       uuid NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, artifact_hash)
);
CREATE UNIQUE INDEX identities_hash ON serve.identities (artifact_hash);
CREATE UNIQUE INDEX identities_playback_id ON serve.identities (playback_id);
CREATE UNIQUE INDEX identities_internal_name ON serve.identities (internal_name);
SELECT platform.raise_wall('serve.identities');
GRANT SELECT, INSERT ON serve.identities TO touchline_app;
GRANT SELECT ON serve.identities TO touchline_readonly;
GRANT SELECT (tenant_id, artifact_hash) ON serve.identities TO touchline_system; -- which objects of the bucket are known

-- The business record of an upload. `placed_at`: since when its artifact exists; until then the record is half of one,
-- and `error_code` says why it stayed that way.
CREATE TABLE serve.uploads (
  tenant_id       uuid NOT NULL,
  artifact_hash   text COLLATE "C" NOT NULL,
  id              uuid NOT NULL,
  title           text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  file_name       text NOT NULL CHECK (char_length(file_name) BETWEEN 1 AND 255),
  size_bytes      bigint NOT NULL CHECK (size_bytes > 0),
  idempotency_key text COLLATE "C" NOT NULL CHECK (char_length(idempotency_key) BETWEEN 1 AND 200),
  created_at      timestamptz NOT NULL,
  placed_at       timestamptz,
  error_code      text,
  error_message   text,
  retention_until timestamptz,
  deleted_at      timestamptz,
  revision        bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK ((error_code IS NULL) = (error_message IS NULL))
);
CREATE UNIQUE INDEX uploads_key ON serve.uploads (tenant_id, idempotency_key);
CREATE INDEX uploads_listing ON serve.uploads (tenant_id, created_at DESC, artifact_hash DESC) WHERE deleted_at IS NULL;
CREATE INDEX uploads_unplaced ON serve.uploads (created_at)
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL;
SELECT platform.raise_wall('serve.uploads');
GRANT SELECT, INSERT, UPDATE ON serve.uploads TO touchline_app;
GRANT SELECT ON serve.uploads TO touchline_readonly;
GRANT SELECT (tenant_id, artifact_hash, created_at, placed_at, error_code, deleted_at) ON serve.uploads
   TO touchline_system; -- which records stayed half

-- The business record of a clip. It is created in one transaction with its artifact, and the same range of the same
-- video is one clip while it is neither deleted nor failed: the unique index enforces it.
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
  -- It failed, so that others may make the same one. When a retry brings it back and the same one was made meanwhile, both live,
  -- and the other keeps the range.
  range_released   boolean NOT NULL DEFAULT false,
  deleted_at       timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, source_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK (start_ms < end_ms)
);
CREATE UNIQUE INDEX clips_same ON serve.clips (tenant_id, source_hash, start_ms, end_ms, padding_ms)
 WHERE deleted_at IS NULL AND NOT range_released;
CREATE INDEX clips_listing ON serve.clips (tenant_id, created_at DESC, artifact_hash DESC) WHERE deleted_at IS NULL;
CREATE INDEX clips_of_source ON serve.clips (tenant_id, source_hash, created_at DESC, artifact_hash DESC)
 WHERE deleted_at IS NULL;
SELECT platform.raise_wall('serve.clips');
GRANT SELECT, INSERT, UPDATE ON serve.clips TO touchline_app;
GRANT SELECT ON serve.clips TO touchline_readonly;

-- What an artifact is right now. `synced`: its original lies verified in the object store.
CREATE TABLE serve.artifacts (
  tenant_id        uuid NOT NULL,
  artifact_hash    text COLLATE "C" NOT NULL,
  artifact_type    text NOT NULL CHECK (artifact_type IN ('clip', 'dvr', 'upload')),
  internal_name    text NOT NULL,
  user_id          uuid NOT NULL,
  status           text NOT NULL CHECK (status IN (
                     'requested', 'uploading', 'completing', 'aborting', 'starting', 'recording', 'stopping',
                     'completed', 'completed_partial', 'processing', 'ready', 'failed', 'deleted')),
  original_key     text NOT NULL,
  content_type     text NOT NULL,
  size_bytes       bigint CHECK (size_bytes > 0), -- of a clip: known once it was cut
  synced           boolean NOT NULL DEFAULT false,
  job_attempt      integer NOT NULL DEFAULT 0,
  progress_percent integer CHECK (progress_percent BETWEEN 0 AND 100),
  manifest_key     text,
  poster_key       text,
  duration_ms      bigint CHECK (duration_ms >= 0),
  width            integer CHECK (width > 0),
  height           integer CHECK (height > 0),
  error_code       text,
  error_message    text,
  created_at       timestamptz NOT NULL,
  retention_until  timestamptz,
  deleted_at       timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  original_missing_since timestamptz,     -- the scanner did not find it in the object store; null: it is there
  purge_due_at     timestamptz,           -- since when the other planes have been asked to delete what they hold of it
  pinned           boolean NOT NULL DEFAULT false, -- kept until unpinned, whatever its retention
  is_final         boolean NOT NULL DEFAULT false, -- its deletion is not undone, so its purge waits for nothing
  others_gone_at   timestamptz,           -- the other planes hold nothing of it any more
  purged_at        timestamptz,           -- nor does the object store
  -- The run of the job that its processing is at: what an older run reports late changes nothing, and only a newer one brings
  -- back what has failed. Job ids rise with time, so runs have an order across jobs. Zero: no job has reported yet.
  job_id           uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK ((error_code IS NULL) = (error_message IS NULL)),
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  CHECK (status <> 'ready' OR (synced AND manifest_key IS NOT NULL)),
  CHECK (size_bytes IS NOT NULL OR (artifact_type = 'clip' AND NOT synced))
);
-- What counts towards a tenant's quota, answered from the index alone. A video that could not be processed still lies
-- in the object store.
CREATE INDEX artifacts_stored ON serve.artifacts (tenant_id) INCLUDE (artifact_hash, size_bytes, status)
 WHERE status <> 'deleted' AND (status <> 'failed' OR synced);
-- Retention: which clips and uploads are over their time.
CREATE INDEX artifacts_clip_expiry ON serve.artifacts (retention_until)
 WHERE artifact_type = 'clip' AND deleted_at IS NULL;
CREATE INDEX artifacts_upload_expiry ON serve.artifacts (retention_until)
 WHERE artifact_type = 'upload' AND deleted_at IS NULL AND NOT pinned;
-- Purges: which deletions are to be passed on to the other planes, and which originals may go after them.
CREATE INDEX artifacts_to_purge ON serve.artifacts (deleted_at) WHERE status = 'deleted' AND purge_due_at IS NULL;
CREATE INDEX artifacts_final ON serve.artifacts (deleted_at)
 WHERE status = 'deleted' AND purge_due_at IS NULL AND is_final;
CREATE INDEX artifacts_originals_to_purge ON serve.artifacts (others_gone_at)
 WHERE status = 'deleted' AND others_gone_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX artifacts_missing ON serve.artifacts (artifact_hash) WHERE original_missing_since IS NOT NULL;
SELECT platform.raise_wall('serve.artifacts');
GRANT SELECT, INSERT, UPDATE ON serve.artifacts TO touchline_app;
GRANT SELECT ON serve.artifacts TO touchline_readonly;
-- For retention, the scanner and purges, which work across tenants.
GRANT SELECT (tenant_id, artifact_hash, artifact_type, status, original_key, manifest_key, synced, retention_until, deleted_at,
              original_missing_since, purge_due_at, pinned, is_final, others_gone_at, purged_at)
   ON serve.artifacts TO touchline_system;

-- What watch reported of the videos of goals, in whatever order the events arrive: a dropped one stays dropped. The
-- title changes with what is known of the goal, and may be reported before the video itself.
CREATE TABLE serve.watched (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  object_key    text, -- where watch has it; null: not reported
  pinned        boolean NOT NULL DEFAULT false,
  dropped_at    timestamptz,
  title         text,
  title_revision bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, artifact_hash)
);
SELECT platform.raise_wall('serve.watched');
GRANT SELECT, INSERT, UPDATE ON serve.watched TO touchline_app, touchline_system;
GRANT SELECT ON serve.watched TO touchline_readonly;

-- The lookups that come before the tenant is known: what is in an address, and whose it is.
CREATE POLICY definer_door ON serve.identities FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, artifact_hash, playback_id, internal_name) ON serve.identities TO touchline_definer;

CREATE FUNCTION serve.find_playback_id(wanted text) RETURNS TABLE (tenant_id uuid, artifact_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.tenant_id, i.artifact_hash FROM serve.identities AS i WHERE i.playback_id = lower(wanted)
$$;

CREATE FUNCTION serve.find_internal_name(wanted text) RETURNS TABLE (tenant_id uuid, artifact_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.tenant_id, i.artifact_hash FROM serve.identities AS i WHERE i.internal_name = wanted
$$;

REVOKE EXECUTE ON FUNCTION serve.find_playback_id(text), serve.find_internal_name(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION serve.find_playback_id(text), serve.find_internal_name(text) TO touchline_app;
GRANT CREATE ON SCHEMA serve TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION serve.find_playback_id(text) OWNER TO touchline_definer;
ALTER FUNCTION serve.find_internal_name(text) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA serve FROM touchline_definer;
