-- What is served: who an artifact is, what its owner calls it, how it is, and uploads on their way. Times are the
-- product's, passed in; every change is guarded by the state that it leaves and raises `revision`.

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
  size_bytes       bigint NOT NULL CHECK (size_bytes > 0),
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
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash),
  CHECK ((error_code IS NULL) = (error_message IS NULL)),
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL)),
  CHECK (status <> 'ready' OR (synced AND manifest_key IS NOT NULL))
);
-- What counts towards a tenant's quota, answered from the index alone. A video that could not be processed still lies
-- in the object store.
CREATE INDEX artifacts_stored ON serve.artifacts (tenant_id) INCLUDE (artifact_hash, size_bytes, status)
 WHERE status <> 'deleted' AND (status <> 'failed' OR synced);
SELECT platform.raise_wall('serve.artifacts');
GRANT SELECT, INSERT, UPDATE ON serve.artifacts TO touchline_app;
GRANT SELECT ON serve.artifacts TO touchline_readonly;

-- An upload in parts, for as long as the object store may hold something of it that must be ended: `due_at` is when its
-- owner has to look at it. `attempt` is the fence of whoever completes it.
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
  PRIMARY KEY (tenant_id, artifact_hash),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.artifacts (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((upload_id IS NULL) = (writer IS NULL))
);
CREATE INDEX multiparts_due ON serve.multiparts (due_at);
SELECT platform.raise_wall('serve.multiparts');
GRANT SELECT, INSERT, UPDATE, DELETE ON serve.multiparts TO touchline_app;
GRANT SELECT (tenant_id, artifact_hash, due_at) ON serve.multiparts TO touchline_system; -- which ones are due

-- The machines that hold copies. They belong to the installation, to no tenant. `connection_id` is the stream that speaks
-- for the node: an older one is not listened to.
CREATE TABLE serve.nodes (
  node_id       text PRIMARY KEY CHECK (node_id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  connection_id uuid NOT NULL,
  base_url      text NOT NULL,
  version       text NOT NULL,
  status        text NOT NULL CHECK (status IN ('present', 'gone')),
  budget_bytes  bigint CHECK (budget_bytes >= 0),
  used_bytes    bigint CHECK (used_bytes >= 0),
  registered_at timestamptz NOT NULL,
  last_seen_at  timestamptz NOT NULL,
  revision      bigint NOT NULL DEFAULT 1
);
CREATE INDEX nodes_present ON serve.nodes (last_seen_at) WHERE status = 'present';
GRANT SELECT, INSERT, UPDATE ON serve.nodes TO touchline_app;

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
