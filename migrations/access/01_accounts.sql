-- Accounts: tenants, their users and the API tokens of their programs. Secrets are stored as hashes only. Workers, and the
-- system role that they switch to, see no e-mail address and no hash.

GRANT USAGE ON SCHEMA access TO touchline_app, touchline_readonly, touchline_system, touchline_definer;

CREATE TABLE access.tenants (
  tenant_id    uuid PRIMARY KEY,
  slug         text NOT NULL CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name         text NOT NULL,
  created_at   timestamptz NOT NULL,
  suspended_at timestamptz,
  embed_origins text[] NOT NULL DEFAULT '{}', -- sites that may show its videos in frames of theirs
  revision     bigint NOT NULL DEFAULT 1
);
CREATE INDEX tenants_suspended ON access.tenants (tenant_id) WHERE suspended_at IS NOT NULL;
CREATE UNIQUE INDEX tenants_slug ON access.tenants (slug);
SELECT platform.enable_row_level_security('access.tenants');
GRANT SELECT ON access.tenants TO touchline_app, touchline_readonly;
GRANT SELECT, INSERT, UPDATE ON access.tenants TO touchline_system;

CREATE TABLE access.users (
  tenant_id     uuid NOT NULL REFERENCES access.tenants,
  id            uuid NOT NULL,
  email         text NOT NULL,
  name          text NOT NULL,
  role          text NOT NULL CHECK (role IN ('viewer', 'editor', 'admin', 'operator')),
  password_hash text,
  created_at    timestamptz NOT NULL,
  disabled_at   timestamptz,
  revision      bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id)
);
-- One person, one tenant: an e-mail address is unique in the whole installation, whatever its case.
CREATE UNIQUE INDEX users_email ON access.users (lower(email));
SELECT platform.enable_row_level_security('access.users');
GRANT SELECT, INSERT, UPDATE ON access.users TO touchline_app;
GRANT SELECT (tenant_id, id, email, name, role, created_at, disabled_at, revision) ON access.users TO touchline_readonly;
GRANT SELECT (tenant_id, id) ON access.users TO touchline_system; -- is there anybody at all?

CREATE TABLE access.api_tokens (
  tenant_id    uuid NOT NULL,
  id           uuid NOT NULL,
  user_id      uuid NOT NULL,
  name         text NOT NULL,
  secret_hash  bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  scopes       text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND scopes <> '{}'),
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  revision     bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, user_id) REFERENCES access.users (tenant_id, id)
);
CREATE UNIQUE INDEX api_tokens_secret ON access.api_tokens (secret_hash);
CREATE INDEX api_tokens_user ON access.api_tokens (tenant_id, user_id, id);
SELECT platform.enable_row_level_security('access.api_tokens');
GRANT SELECT, INSERT, UPDATE ON access.api_tokens TO touchline_app;
GRANT SELECT (tenant_id, id, user_id, name, scopes, created_at, expires_at, last_used_at, revoked_at, revision)
   ON access.api_tokens TO touchline_readonly;

-- The lookups that run before the tenant is known. Each answers for one exact secret or e-mail address and returns only
-- what the next step needs; what the definer may read at all is limited by column.
CREATE POLICY definer_door ON access.tenants FOR SELECT TO touchline_definer USING (true);
CREATE POLICY definer_door ON access.users FOR SELECT TO touchline_definer USING (true);
CREATE POLICY definer_door ON access.api_tokens FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, suspended_at) ON access.tenants TO touchline_definer;
GRANT SELECT (tenant_id, id, email, role, disabled_at) ON access.users TO touchline_definer;
GRANT SELECT (tenant_id, id, user_id, secret_hash, scopes, expires_at, last_used_at, revoked_at)
   ON access.api_tokens TO touchline_definer;

CREATE FUNCTION access.find_user(wanted_email text) RETURNS TABLE (tenant_id uuid, id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT u.tenant_id, u.id FROM access.users AS u WHERE lower(u.email) = lower(wanted_email)
$$;

CREATE FUNCTION access.find_api_token(wanted_hash bytea) RETURNS TABLE (
  tenant_id uuid, id uuid, user_id uuid, role text, scopes text[],
  expires_at timestamptz, last_used_at timestamptz, revoked_at timestamptz,
  disabled_at timestamptz, suspended_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.tenant_id, a.id, a.user_id, u.role, a.scopes, a.expires_at, a.last_used_at, a.revoked_at,
         u.disabled_at, t.suspended_at
    FROM access.api_tokens AS a
    JOIN access.users AS u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
    JOIN access.tenants AS t ON t.tenant_id = a.tenant_id
   WHERE a.secret_hash = wanted_hash
$$;

REVOKE EXECUTE ON FUNCTION access.find_user(text), access.find_api_token(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.find_user(text), access.find_api_token(bytea) TO touchline_app;
GRANT CREATE ON SCHEMA access TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION access.find_user(text) OWNER TO touchline_definer;
ALTER FUNCTION access.find_api_token(bytea) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA access FROM touchline_definer;
