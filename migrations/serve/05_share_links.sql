-- Share links: whoever holds the token of one may play one artifact without signing in, until it expires or is revoked.
-- Only the hash of a token is kept. A link goes with its artifact.

CREATE TABLE serve.share_links (
  tenant_id     uuid NOT NULL,
  id            uuid NOT NULL,
  artifact_hash text COLLATE "C" NOT NULL,
  token_hash    bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  created_by    uuid NOT NULL, -- the user
  created_at    timestamptz NOT NULL,
  expires_at    timestamptz NOT NULL CHECK (expires_at > created_at),
  revoked_at    timestamptz,
  revision      bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.identities (tenant_id, artifact_hash) ON DELETE CASCADE
);
CREATE UNIQUE INDEX share_links_token ON serve.share_links (token_hash);
CREATE INDEX share_links_artifact ON serve.share_links (tenant_id, artifact_hash, id DESC);
SELECT platform.enable_row_level_security('serve.share_links');
GRANT SELECT, INSERT, UPDATE ON serve.share_links TO touchline_app;
GRANT SELECT (tenant_id, id, artifact_hash, created_by, created_at, expires_at, revoked_at, revision)
   ON serve.share_links TO touchline_readonly;

-- The lookup that comes before the tenant is known: by the hash of exactly one token.
CREATE POLICY definer_door ON serve.share_links FOR SELECT TO touchline_definer USING (true);
GRANT SELECT (tenant_id, id, token_hash) ON serve.share_links TO touchline_definer;

CREATE FUNCTION serve.find_share_link(wanted_hash bytea) RETURNS TABLE (tenant_id uuid, id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.tenant_id, s.id FROM serve.share_links AS s WHERE s.token_hash = wanted_hash
$$;

REVOKE EXECUTE ON FUNCTION serve.find_share_link(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION serve.find_share_link(bytea) TO touchline_app;
GRANT CREATE ON SCHEMA serve TO touchline_definer; -- only while it takes the function over
ALTER FUNCTION serve.find_share_link(bytea) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA serve FROM touchline_definer;
