-- The scanner: which objects of the bucket are known, and which originals are not where they should be.

ALTER TABLE serve.artifacts ADD COLUMN original_missing_since timestamptz; -- null: nobody missed it
CREATE INDEX artifacts_missing ON serve.artifacts (artifact_hash) WHERE original_missing_since IS NOT NULL;

GRANT SELECT (tenant_id, artifact_hash) ON serve.identities TO touchline_system;
GRANT SELECT (tenant_id, artifact_hash, original_key, status, synced, original_missing_since) ON serve.artifacts
   TO touchline_system;
