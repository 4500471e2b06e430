-- Recordings of streams, and what a tenant has set for all that it keeps.

-- The business record of a recording. While it goes on it is the only one of its stream: the unique index enforces it.
CREATE TABLE serve.dvr_recordings (
  tenant_id       uuid NOT NULL,
  artifact_hash   text COLLATE "C" NOT NULL,
  id              uuid NOT NULL,
  stream_id       uuid NOT NULL,
  internal_name   text NOT NULL, -- of the stream
  title           text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 255),
  description     text NOT NULL CHECK (char_length(description) <= 2000),
  created_at      timestamptz NOT NULL,
  placed_at       timestamptz, -- since when its artifact exists
  ended_at        timestamptz, -- completed, or failed
  error_code      text,        -- why it never had an artifact
  error_message   text,
  retention_ms    bigint NOT NULL CHECK (retention_ms > 0),
  retention_until timestamptz, -- from its end
  deleted_at      timestamptz,
  revision        bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, stream_id) REFERENCES serve.streams (tenant_id, id),
  CHECK ((error_code IS NULL) = (error_message IS NULL))
);
CREATE UNIQUE INDEX dvr_recordings_active ON serve.dvr_recordings (tenant_id, stream_id)
 WHERE ended_at IS NULL AND error_code IS NULL AND deleted_at IS NULL;
CREATE INDEX dvr_recordings_listing ON serve.dvr_recordings (tenant_id, created_at DESC, artifact_hash DESC)
 WHERE deleted_at IS NULL;
CREATE INDEX dvr_recordings_of_stream ON serve.dvr_recordings (tenant_id, stream_id, created_at DESC, artifact_hash DESC)
 WHERE deleted_at IS NULL;
CREATE INDEX dvr_recordings_unplaced ON serve.dvr_recordings (created_at)
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL;
-- Records that never got an artifact: when they expire, and when they are forgotten.
CREATE INDEX dvr_recordings_failed ON serve.dvr_recordings (retention_until)
 WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX dvr_recordings_never_placed ON serve.dvr_recordings (deleted_at) WHERE placed_at IS NULL AND deleted_at IS NOT NULL;
SELECT platform.enable_row_level_security('serve.dvr_recordings');
GRANT SELECT, INSERT, UPDATE ON serve.dvr_recordings TO touchline_app;
GRANT SELECT ON serve.dvr_recordings TO touchline_readonly;
GRANT SELECT (tenant_id, artifact_hash, stream_id, created_at, placed_at, ended_at, error_code, retention_until, deleted_at)
   ON serve.dvr_recordings TO touchline_system;

-- A node that records: one row for each command that told a node to. Its id is part of the keys of what it stores, and
-- fences what it reports. Ids rise with time, and the recording is the segments of all attempts in this order.
CREATE TABLE serve.dvr_attempts (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  attempt       uuid NOT NULL,
  node_id       text NOT NULL REFERENCES serve.nodes (node_id),
  started_at    timestamptz NOT NULL,
  reported_at   timestamptz NOT NULL, -- the last sign of the node
  ended_at      timestamptz,          -- the node said that no more will come, or never began
  end_code      text,
  end_message   text,
  PRIMARY KEY (tenant_id, artifact_hash, attempt),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.artifacts (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((ended_at IS NULL) = (end_code IS NULL))
);
SELECT platform.enable_row_level_security('serve.dvr_attempts');
GRANT SELECT, INSERT, UPDATE ON serve.dvr_attempts TO touchline_app;
GRANT SELECT ON serve.dvr_attempts TO touchline_readonly;

-- The segments of a recording that lie in the object store.
CREATE TABLE serve.dvr_segments (
  tenant_id     uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  attempt       uuid NOT NULL,
  sequence      bigint NOT NULL CHECK (sequence > 0), -- without gaps
  init          integer NOT NULL CHECK (init > 0),    -- the header that it needs
  starts_at     timestamptz NOT NULL,
  duration_us   bigint NOT NULL CHECK (duration_us > 0),
  size_bytes    bigint NOT NULL CHECK (size_bytes > 0),
  follows_break boolean NOT NULL, -- it does not continue what came before it
  PRIMARY KEY (tenant_id, artifact_hash, attempt, sequence),
  FOREIGN KEY (tenant_id, artifact_hash, attempt) REFERENCES serve.dvr_attempts (tenant_id, artifact_hash, attempt)
    ON DELETE CASCADE
);
SELECT platform.enable_row_level_security('serve.dvr_segments');
GRANT SELECT, INSERT ON serve.dvr_segments TO touchline_app;
GRANT SELECT ON serve.dvr_segments TO touchline_readonly;

-- What an administrator of the tenant has set; without a row, or with null, what the installation says.
CREATE TABLE serve.tenant_settings (
  tenant_id    uuid PRIMARY KEY,
  retention_ms bigint CHECK (retention_ms > 0),
  revision     bigint NOT NULL DEFAULT 1
);
SELECT platform.enable_row_level_security('serve.tenant_settings');
GRANT SELECT, INSERT, UPDATE ON serve.tenant_settings TO touchline_app;
GRANT SELECT ON serve.tenant_settings TO touchline_readonly;

-- Whose stream a key is: an encoder has nothing else to show.
CREATE POLICY definer_door ON serve.streams FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, id, key_hash, suspended_at, deleted_at) ON serve.streams TO touchline_definer;

CREATE FUNCTION serve.find_stream_key(wanted bytea) RETURNS TABLE (tenant_id uuid, id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.tenant_id, s.id FROM serve.streams AS s
   WHERE s.key_hash = wanted AND s.suspended_at IS NULL AND s.deleted_at IS NULL
$$;

REVOKE EXECUTE ON FUNCTION serve.find_stream_key(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION serve.find_stream_key(bytea) TO touchline_app;
GRANT CREATE ON SCHEMA serve TO touchline_definer; -- only while it takes the function over
ALTER FUNCTION serve.find_stream_key(bytea) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA serve FROM touchline_definer;
