-- Sign-in: links, sessions and the keys that sign access tokens. Secrets are stored as hashes only.

CREATE TABLE access.sign_in_links (
  tenant_id   uuid NOT NULL,
  id          uuid NOT NULL,
  user_id     uuid NOT NULL,
  secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  used_at     timestamptz,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES access.users (tenant_id, id)
);
CREATE UNIQUE INDEX sign_in_links_secret ON access.sign_in_links (secret_hash);
CREATE INDEX sign_in_links_expiry ON access.sign_in_links (expires_at);
SELECT platform.enable_row_level_security('access.sign_in_links');
GRANT SELECT, INSERT, UPDATE ON access.sign_in_links TO touchline_app;
GRANT SELECT (tenant_id, id, expires_at), DELETE ON access.sign_in_links TO touchline_system;

CREATE TABLE access.sessions (
  tenant_id     uuid NOT NULL,
  id            uuid NOT NULL,
  user_id       uuid NOT NULL,
  method        text NOT NULL CHECK (method IN ('link', 'password')),
  opened_at     timestamptz NOT NULL,
  expires_at    timestamptz NOT NULL,
  ended_at      timestamptz,
  ended_because text,
  revision      bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES access.users (tenant_id, id),
  CHECK ((ended_at IS NULL) = (ended_because IS NULL))
);
CREATE INDEX sessions_user ON access.sessions (tenant_id, user_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_expiry ON access.sessions (expires_at);
SELECT platform.enable_row_level_security('access.sessions');
GRANT SELECT, INSERT, UPDATE ON access.sessions TO touchline_app;
GRANT SELECT (tenant_id, id, expires_at), DELETE ON access.sessions TO touchline_system;

-- Every secret that a session has had. One that was rotated stays valid until the new one is first used, because the
-- response may never reach the browser. A superseded one that comes back was copied by somebody.
CREATE TABLE access.session_secrets (
  tenant_id     uuid NOT NULL,
  session_id    uuid NOT NULL,
  secret_hash   bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  superseded_at timestamptz, -- since when a newer one is known to have arrived
  rotated_at    timestamptz, -- when it was last answered with a new one; several of those may be unused
  seen_at       timestamptz, -- when it was first presented
  FOREIGN KEY (tenant_id, session_id) REFERENCES access.sessions (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX session_secrets_secret ON access.session_secrets (secret_hash);
CREATE INDEX session_secrets_session ON access.session_secrets (tenant_id, session_id);
SELECT platform.enable_row_level_security('access.session_secrets');
GRANT SELECT, INSERT, UPDATE ON access.session_secrets TO touchline_app;

-- Numbered, so that of two processes that create the next key one is refused. The private half is encrypted with a key
-- that is not in this database.
CREATE TABLE access.signing_keys (
  number      bigint PRIMARY KEY,
  kid         text NOT NULL UNIQUE,
  public_key  bytea NOT NULL CHECK (octet_length(public_key) = 32),
  sealed_key  bytea NOT NULL,
  created_at  timestamptz NOT NULL,
  signs_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON access.signing_keys TO touchline_app;

-- Password attempts in the current window, by the hash of the e-mail address or the IP address.
CREATE TABLE access.sign_in_attempts (
  subject        bytea PRIMARY KEY,
  attempts       integer NOT NULL,
  window_ends_at timestamptz NOT NULL,
  last_at        timestamptz -- the more attempts there were, the longer the next one has to wait
);
CREATE INDEX sign_in_attempts_window ON access.sign_in_attempts (window_ends_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON access.sign_in_attempts TO touchline_app;

CREATE POLICY definer_door ON access.sign_in_links FOR SELECT TO touchline_definer USING (true);
CREATE POLICY definer_door ON access.session_secrets FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, id, secret_hash) ON access.sign_in_links TO touchline_definer;
GRANT SELECT (tenant_id, session_id, secret_hash) ON access.session_secrets TO touchline_definer;

CREATE FUNCTION access.find_sign_in_link(wanted_hash bytea) RETURNS TABLE (tenant_id uuid, id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.tenant_id, l.id FROM access.sign_in_links AS l WHERE l.secret_hash = wanted_hash
$$;

CREATE FUNCTION access.find_session(wanted_hash bytea) RETURNS TABLE (tenant_id uuid, id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.tenant_id, s.session_id FROM access.session_secrets AS s WHERE s.secret_hash = wanted_hash
$$;

REVOKE EXECUTE ON FUNCTION access.find_sign_in_link(bytea), access.find_session(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.find_sign_in_link(bytea), access.find_session(bytea) TO touchline_app;
GRANT CREATE ON SCHEMA access TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION access.find_sign_in_link(bytea) OWNER TO touchline_definer;
ALTER FUNCTION access.find_session(bytea) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA access FROM touchline_definer;
