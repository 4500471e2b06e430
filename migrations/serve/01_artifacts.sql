-- Artifacts: their identities, their business records (uploads, clips), their state, and multipart uploads in progress.
-- Times are passed in by the product; every change is guarded by the state that it leaves and raises `revision`.

GRANT USAGE ON SCHEMA serve TO touchline_app, touchline_readonly, touchline_system, touchline_definer;

-- One row for each artifact of any kind and for each stream, whose hash is the hex of its id: public ids are unique across
-- kinds and tenants. An artifact's is the last to go, when the audit period after the purge is over and nobody keeps history of
-- it any more; all other rows of the artifact go with it.
CREATE TABLE serve.identities (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL CHECK (artifact_hash ~ '^[0-9a-f]{32}$'),
  playback_id   text COLLATE "C" NOT NULL CHECK (playback_id ~ '^[a-z0-9]{16}$'),
  internal_name text COLLATE "C" NOT NULL CHECK (internal_name ~ '^[a-z0-9]{32}$'),
  kind          text NOT NULL CHECK (kind IN ('clip', 'dvr', 'upload', 'stream')),
  user_id       uuid NOT NULL,
  created_at    timestamptz NOT NULL,
  forget_due_at timestamptz, -- since when whoever keeps history of it has been asked to delete that
  forget_asked_at timestamptz, -- and when for the last time
  forgotten_at  timestamptz, -- they have
  PRIMARY KEY (tenant_id, artifact_hash),
  CHECK ((forget_due_at IS NULL) = (forget_asked_at IS NULL))
);
CREATE UNIQUE INDEX identities_hash ON serve.identities (artifact_hash);
CREATE UNIQUE INDEX identities_playback_id ON serve.identities (playback_id);
CREATE UNIQUE INDEX identities_internal_name ON serve.identities (internal_name);
CREATE INDEX identities_forgetting ON serve.identities (forget_asked_at) WHERE forget_due_at IS NOT NULL AND forgotten_at IS NULL;
CREATE INDEX identities_forgotten ON serve.identities (forgotten_at) WHERE forgotten_at IS NOT NULL;
SELECT platform.enable_row_level_security('serve.identities');
GRANT SELECT, INSERT, DELETE, UPDATE (forget_due_at, forget_asked_at, forgotten_at) ON serve.identities TO touchline_app;
GRANT SELECT ON serve.identities TO touchline_readonly;
-- Which objects of the bucket are known, and which identities are to go.
GRANT SELECT (tenant_id, artifact_hash, kind, created_at, forget_due_at, forget_asked_at, forgotten_at) ON serve.identities
   TO touchline_system;

-- What was asked for under an idempotency key, and what it made: the same again has the same result, anything else is
-- refused. Gone with what it made.
CREATE TABLE serve.idempotency_keys (
  tenant_id     uuid NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('clip', 'dvr', 'upload', 'stream')),
  key           text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
  artifact_hash text COLLATE "C" NOT NULL,
  request       jsonb NOT NULL,
  PRIMARY KEY (tenant_id, kind, key),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE
);
CREATE INDEX idempotency_keys_artifact ON serve.idempotency_keys (tenant_id, artifact_hash);
SELECT platform.enable_row_level_security('serve.idempotency_keys');
GRANT SELECT, INSERT ON serve.idempotency_keys TO touchline_app;
GRANT SELECT ON serve.idempotency_keys TO touchline_readonly;

-- The business record of an upload. `placed_at`: since when its artifact exists; until then the record is half of one,
-- and `error_code` says why it stayed that way. `retention_ms`: how long it is kept, resolved once, of the request, the
-- tenant and the installation.
CREATE TABLE serve.uploads (
  tenant_id       uuid NOT NULL,
  artifact_hash   text COLLATE "C" NOT NULL,
  id              uuid NOT NULL,
  title           text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  description     text NOT NULL DEFAULT '' CHECK (char_length(description) <= 2000),
  renamed_at      timestamptz, -- by a person: what watch calls it later does not count
  file_name       text NOT NULL CHECK (char_length(file_name) BETWEEN 1 AND 255),
  size_bytes      bigint NOT NULL CHECK (size_bytes > 0),
  created_at      timestamptz NOT NULL,
  placed_at       timestamptz,
  error_code      text,
  error_message   text,
  retention_ms    bigint NOT NULL CHECK (retention_ms > 0),
  retention_until timestamptz,
  deleted_at      timestamptz,
  revision        bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((error_code IS NULL) = (error_message IS NULL))
);
CREATE INDEX uploads_listing ON serve.uploads (tenant_id, created_at DESC, artifact_hash DESC) WHERE deleted_at IS NULL;
CREATE INDEX uploads_unplaced ON serve.uploads (created_at)
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL;
-- Records that never got an artifact: when they expire, and when they are forgotten.
CREATE INDEX uploads_failed ON serve.uploads (retention_until)
 WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX uploads_never_placed ON serve.uploads (deleted_at) WHERE placed_at IS NULL AND deleted_at IS NOT NULL;
SELECT platform.enable_row_level_security('serve.uploads');
GRANT SELECT, INSERT, UPDATE ON serve.uploads TO touchline_app;
GRANT SELECT ON serve.uploads TO touchline_readonly;
GRANT SELECT (tenant_id, artifact_hash, created_at, placed_at, error_code, retention_until, deleted_at) ON serve.uploads
   TO touchline_system; -- which records stayed half

-- The business record of a stream. Its key is shown once, when it is made; only the SHA-256 of it lies here. `live_since`:
-- since when its media arrive, at which node and in which session; null while nobody publishes. The node reports while they
-- do; a session whose node fell silent is lost, and goes on if the node still has it when it reports again.
CREATE TABLE serve.streams (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL,
  stream_hash     text COLLATE "C" NOT NULL GENERATED ALWAYS AS (replace(id::text, '-', '')) STORED, -- of its identity
  title           text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  description     text NOT NULL CHECK (char_length(description) <= 2000),
  record          boolean NOT NULL, -- whether a recording starts whenever it goes live
  key_hash        bytea NOT NULL CHECK (octet_length(key_hash) = 32),
  key_rotated_at  timestamptz NOT NULL,
  live_since      timestamptz,
  live_node_id    text,
  live_session_id uuid,
  live_playable_at timestamptz, -- since when there is something to play
  live_broken_at  timestamptz,  -- the publisher is gone, and may come back
  live_seen_at    timestamptz,  -- the last report of the node
  live_health     jsonb,        -- as the node measured it last
  live_problem    text,         -- why the last publisher was refused for what it sent
  lost_session_id uuid,
  created_at      timestamptz NOT NULL,
  suspended_at    timestamptz, -- its key is refused until it is resumed
  deleted_at      timestamptz,
  revision        bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, stream_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK ((live_since IS NULL) = (live_node_id IS NULL) AND (live_since IS NULL) = (live_session_id IS NULL)),
  CHECK (live_since IS NULL OR (suspended_at IS NULL AND deleted_at IS NULL))
);
CREATE UNIQUE INDEX streams_key ON serve.streams (key_hash);
CREATE INDEX streams_at_node ON serve.streams (live_node_id) WHERE live_since IS NOT NULL;
CREATE INDEX streams_listing ON serve.streams (tenant_id, created_at DESC, stream_hash DESC) WHERE deleted_at IS NULL;
SELECT platform.enable_row_level_security('serve.streams');
GRANT SELECT, INSERT, UPDATE ON serve.streams TO touchline_app;
GRANT SELECT (tenant_id, id, stream_hash, title, description, record, key_rotated_at, live_since, live_node_id,
              live_session_id, live_playable_at, live_broken_at, live_seen_at, live_health, live_problem, created_at,
              suspended_at, deleted_at, revision) ON serve.streams TO touchline_readonly;
GRANT SELECT (tenant_id, id, record, live_since, live_node_id, live_session_id, live_seen_at) ON serve.streams
   TO touchline_system; -- whose nodes are silent, and which ones are to be recorded
CREATE INDEX streams_recorded ON serve.streams (live_since) WHERE live_since IS NOT NULL AND record;

-- The business record of a clip. The same range of the same source is one clip while it is neither deleted nor failed: the
-- unique index enforces it. `source_hash`: the artifact that it is cut from, or the stream. Times are of the source: of an
-- uploaded video from its beginning, of a stream and its recordings since 1970.
CREATE TABLE serve.clips (
  tenant_id        uuid NOT NULL,
  artifact_hash    text COLLATE "C" NOT NULL,
  id               uuid NOT NULL,
  source_hash      text COLLATE "C" NOT NULL, -- a clip outlives its source, whose rows may be gone
  stream_id        uuid, -- of a clip of a stream
  clip_mode        text NOT NULL CHECK (clip_mode IN ('absolute', 'relative', 'duration', 'clip_now')),
  title            text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  description      text NOT NULL CHECK (char_length(description) <= 2000),
  start_ms         bigint NOT NULL CHECK (start_ms >= 0), -- of the source's media time, as the padding
  end_ms           bigint NOT NULL,
  padding_ms       bigint NOT NULL CHECK (padding_ms >= 0),
  shown_start_ms   bigint NOT NULL, -- with its padding as far as the source goes; exact once it was cut
  shown_end_ms     bigint NOT NULL,
  requested_params jsonb NOT NULL, -- as it was sent
  created_at       timestamptz NOT NULL,
  placed_at        timestamptz, -- since when its artifact exists
  error_code       text,        -- why it never did
  error_message    text,
  retention_ms     bigint NOT NULL CHECK (retention_ms > 0),
  retention_until  timestamptz NOT NULL,
  -- It failed, so that others may make the same one. When a retry brings it back and the same one was made meanwhile, both live,
  -- and the other keeps the range.
  range_released   boolean NOT NULL DEFAULT false,
  deleted_at       timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, stream_id) REFERENCES serve.streams (tenant_id, id),
  CHECK (start_ms < end_ms),
  CHECK ((error_code IS NULL) = (error_message IS NULL))
);
CREATE INDEX clips_unplaced ON serve.clips (created_at)
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL;
CREATE UNIQUE INDEX clips_same ON serve.clips (tenant_id, source_hash, start_ms, end_ms, padding_ms)
 WHERE deleted_at IS NULL AND NOT range_released;
CREATE INDEX clips_listing ON serve.clips (tenant_id, created_at DESC, artifact_hash DESC) WHERE deleted_at IS NULL;
CREATE INDEX clips_of_source ON serve.clips (tenant_id, source_hash, created_at DESC, artifact_hash DESC)
 WHERE deleted_at IS NULL;
-- Records that never got an artifact: when they expire, and when they are forgotten.
CREATE INDEX clips_failed ON serve.clips (retention_until)
 WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX clips_never_placed ON serve.clips (deleted_at) WHERE placed_at IS NULL AND deleted_at IS NOT NULL;
SELECT platform.enable_row_level_security('serve.clips');
GRANT SELECT, INSERT, UPDATE ON serve.clips TO touchline_app;
GRANT SELECT ON serve.clips TO touchline_readonly;
GRANT SELECT (tenant_id, artifact_hash, created_at, placed_at, error_code, retention_until, deleted_at) ON serve.clips TO touchline_system;

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
  size_bytes       bigint CHECK (size_bytes > 0), -- of a clip: known once it was cut; of a recording: once it has ended
  synced           boolean NOT NULL DEFAULT false,
  local_copies     integer NOT NULL DEFAULT 0 CHECK (local_copies >= 0), -- nodes that have it: of serve.artifact_nodes
  transfer         text CHECK (transfer IN ('freeze', 'defrost')), -- its bytes move right now: of serve.node_commands
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
  started_at       timestamptz, -- of a recording
  ended_at         timestamptz,
  retention_ms     bigint NOT NULL CHECK (retention_ms > 0), -- as the registry resolved it
  retention_until  timestamptz,
  deleted_at       timestamptz,
  deleted_from     text, -- the status that it comes back to
  revision         bigint NOT NULL DEFAULT 1,
  original_missing_since timestamptz,     -- the scanner did not find it in the object store; null: it is there
  purge_due_at     timestamptz,           -- since when the other planes have been asked to delete what they hold of it
  pinned           boolean NOT NULL DEFAULT false, -- kept until unpinned, whatever its retention
  awaiting         text[] NOT NULL DEFAULT '{}', -- the planes that still hold something of it
  purge_next_at    timestamptz,           -- when the next step of its purge is due: to ask again, or to delete its bytes
  purge_error      text,                  -- why its bytes could not be deleted; they are tried again
  purged_at        timestamptz,           -- nothing of it is left in the object store, nor in other planes
  reported_at      timestamptz NOT NULL,  -- the last sign of whoever works on it
  -- The run of the job that its processing is at: what an older run reports late changes nothing, and only a newer one brings
  -- back what has failed. Job ids rise with time, so runs have an order across jobs. Zero: no job has reported yet.
  job_id           uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((error_code IS NULL) = (error_message IS NULL)),
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  CHECK (purge_due_at IS NULL OR status = 'deleted'),
  CHECK ((purge_next_at IS NOT NULL) = (purge_due_at IS NOT NULL AND purged_at IS NULL)),
  CHECK (ended_at IS NOT NULL OR status NOT IN ('completed', 'completed_partial')),
  CHECK (status <> 'ready' OR (synced AND manifest_key IS NOT NULL)),
  CHECK (size_bytes IS NOT NULL OR (artifact_type IN ('clip', 'dvr') AND NOT synced))
);
-- What counts towards a tenant's quota, answered from the index alone. A video that could not be processed still lies
-- in the object store.
CREATE INDEX artifacts_stored ON serve.artifacts (tenant_id) INCLUDE (artifact_hash, size_bytes, status)
 WHERE status <> 'deleted' AND (status <> 'failed' OR synced);
-- Retention: what is finished and over its time. What is pinned, sent, recorded or worked on is not in here.
CREATE INDEX artifacts_expiry ON serve.artifacts (retention_until, artifact_hash)
 WHERE status IN ('ready', 'failed', 'completed', 'completed_partial') AND NOT pinned;
-- Who has heard nothing of its processing for long.
CREATE INDEX artifacts_reported ON serve.artifacts (reported_at)
 WHERE status = 'processing' OR (status = 'requested' AND artifact_type <> 'upload');
-- Recordings that go on, and whose owner looks after them.
CREATE INDEX artifacts_recorded ON serve.artifacts (reported_at)
 WHERE artifact_type = 'dvr' AND status IN ('starting', 'recording', 'stopping');
-- Purges: which deletions are over the time to undelete, which purges have a next step, and which have ended.
CREATE INDEX artifacts_to_purge ON serve.artifacts (deleted_at) WHERE status = 'deleted' AND purge_due_at IS NULL;
CREATE INDEX artifacts_purging ON serve.artifacts (purge_next_at) WHERE purge_next_at IS NOT NULL;
CREATE INDEX artifacts_purged ON serve.artifacts (purged_at) WHERE purged_at IS NOT NULL;
CREATE INDEX artifacts_missing ON serve.artifacts (artifact_hash) WHERE original_missing_since IS NOT NULL;
SELECT platform.enable_row_level_security('serve.artifacts');
GRANT SELECT, INSERT, UPDATE ON serve.artifacts TO touchline_app;
GRANT SELECT ON serve.artifacts TO touchline_readonly;
-- For retention, the scanner and purges, which work across tenants.
GRANT SELECT (tenant_id, artifact_hash, artifact_type, status, original_key, manifest_key, poster_key, size_bytes,
              synced, retention_until, deleted_at, original_missing_since, purge_due_at, pinned, awaiting, purge_next_at,
              purge_error, purged_at, reported_at, local_copies, transfer)
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
SELECT platform.enable_row_level_security('serve.watched');
GRANT SELECT, INSERT, UPDATE, DELETE ON serve.watched TO touchline_app;
GRANT SELECT, INSERT, UPDATE ON serve.watched TO touchline_system;
GRANT SELECT ON serve.watched TO touchline_readonly;

-- The lookups that come before the tenant is known: what is in an address, and whose it is.
CREATE POLICY definer_door ON serve.identities FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, artifact_hash, playback_id, internal_name, kind) ON serve.identities TO touchline_definer;

CREATE FUNCTION serve.find_playback_id(wanted text) RETURNS TABLE (tenant_id uuid, artifact_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.tenant_id, i.artifact_hash FROM serve.identities AS i
   WHERE i.playback_id = lower(wanted)
$$;

CREATE FUNCTION serve.find_internal_name(wanted text) RETURNS TABLE (tenant_id uuid, artifact_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.tenant_id, i.artifact_hash FROM serve.identities AS i
   WHERE i.internal_name = wanted AND i.kind <> 'stream'
$$;

CREATE FUNCTION serve.find_artifact(wanted text) RETURNS TABLE (tenant_id uuid, artifact_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.tenant_id, i.artifact_hash FROM serve.identities AS i
   WHERE i.artifact_hash = wanted AND i.kind <> 'stream'
$$;

REVOKE EXECUTE ON FUNCTION serve.find_playback_id(text), serve.find_internal_name(text), serve.find_artifact(text)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION serve.find_playback_id(text), serve.find_internal_name(text), serve.find_artifact(text)
   TO touchline_app;
GRANT CREATE ON SCHEMA serve TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION serve.find_playback_id(text) OWNER TO touchline_definer;
ALTER FUNCTION serve.find_internal_name(text) OWNER TO touchline_definer;
ALTER FUNCTION serve.find_artifact(text) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA serve FROM touchline_definer;
