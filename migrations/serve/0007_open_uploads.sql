-- Whose an upload is that the object store lists as open.
CREATE UNIQUE INDEX multiparts_upload ON serve.multiparts (upload_id) WHERE upload_id IS NOT NULL;
GRANT SELECT (upload_id) ON serve.multiparts TO touchline_system;

-- A few artifacts are sampled, to see whether their files can be read.
GRANT SELECT (manifest_key) ON serve.artifacts TO touchline_system;
