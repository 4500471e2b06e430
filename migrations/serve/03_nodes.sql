-- Nodes, the copies that they hold, and the commands that they are sent.

-- A machine that holds copies. It belongs to the installation, to no tenant. `connection_id` is the stream that speaks for
-- the node: messages of an older one are refused. `instance_id` is written in the node's folder: another folder, or another
-- machine, under the same id is refused until somebody forgets the node that was.
CREATE TABLE serve.nodes (
  node_id         text PRIMARY KEY CHECK (node_id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  instance_id     uuid NOT NULL,
  connection_id   uuid NOT NULL,
  base_url        text NOT NULL,
  version         text NOT NULL,
  locality        text NOT NULL DEFAULT '' CHECK (char_length(locality) <= 63),
  publish_urls    text[] NOT NULL DEFAULT '{}', -- where encoders publish to
  status          text NOT NULL CHECK (status IN ('present', 'gone')),
  trouble         text,   -- what the node, or the check of its inventory, complains about; null: healthy
  budget_bytes    bigint CHECK (budget_bytes >= 0),
  used_bytes      bigint CHECK (used_bytes >= 0),
  free_bytes      bigint CHECK (free_bytes >= 0), -- of its disk
  load            integer NOT NULL DEFAULT 0 CHECK (load >= 0), -- media requests that it answers right now
  report_sequence bigint NOT NULL DEFAULT 0, -- of the last batch of access counts: the same batch again counts nothing
  inventory_at    timestamptz, -- when its last complete inventory was taken over
  inventory_refusal text, -- why the last one was not
  registered_at   timestamptz NOT NULL,
  last_seen_at    timestamptz NOT NULL,
  revision        bigint NOT NULL DEFAULT 1
);
CREATE INDEX nodes_present ON serve.nodes (last_seen_at) WHERE status = 'present';
GRANT SELECT, INSERT, UPDATE ON serve.nodes TO touchline_app;
GRANT SELECT ON serve.nodes TO touchline_readonly, touchline_system;

-- The copy of one artifact on one node: the playable files of the rendition whose manifest it names. Rows of copies that are
-- gone stay until the artifact's own row goes.
--
--   defrosting -> present -> evicting -> gone
--       └-----------┴----------------------^      (and back to present: an eviction that the node refused)
CREATE TABLE serve.artifact_nodes (
  tenant_id        uuid NOT NULL,
  artifact_hash    text COLLATE "C" NOT NULL,
  node_id          text NOT NULL REFERENCES serve.nodes (node_id),
  state            text NOT NULL CHECK (state IN ('defrosting', 'present', 'evicting', 'gone')),
  manifest_key     text NOT NULL, -- the rendition; a copy of an older one is not played any more
  size_bytes       bigint NOT NULL DEFAULT 0 CHECK (size_bytes >= 0),
  segment_count    integer NOT NULL DEFAULT 0 CHECK (segment_count >= 0),
  segment_bytes    bigint NOT NULL DEFAULT 0 CHECK (segment_bytes >= 0),
  access_count     bigint NOT NULL DEFAULT 0 CHECK (access_count >= 0),
  last_accessed_at timestamptz,
  last_seen_at     timestamptz NOT NULL,
  cached_at        timestamptz, -- since when the node has it
  gone_at          timestamptz,
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, artifact_hash, node_id),
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.artifacts (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((state = 'gone') = (gone_at IS NOT NULL))
);
CREATE INDEX artifact_nodes_held ON serve.artifact_nodes (node_id, artifact_hash) WHERE state <> 'gone';
SELECT platform.enable_row_level_security('serve.artifact_nodes');
GRANT SELECT, INSERT, UPDATE ON serve.artifact_nodes TO touchline_app;
GRANT SELECT ON serve.artifact_nodes TO touchline_readonly;
GRANT SELECT, UPDATE (access_count, last_accessed_at, last_seen_at) ON serve.artifact_nodes TO touchline_system; -- a node's copies are of many tenants

-- What nodes are asked to do. A command lies here until the node has acknowledged it, whichever side dies meanwhile: a new
-- connection is sent everything that is open. `id` is also the attempt that fences what the command does: only while it is
-- open does its acknowledgement change anything. What is open after `deadline` is ended by its owner, a periodic pass.
CREATE TABLE serve.node_commands (
  id              uuid PRIMARY KEY,
  node_id         text NOT NULL REFERENCES serve.nodes (node_id),
  kind            text NOT NULL CHECK (kind IN ('clip_pull', 'dvr_start', 'dvr_stop', 'freeze', 'defrost', 'delete')),
  tenant_id       uuid NOT NULL,
  artifact_hash   text COLLATE "C" NOT NULL,
  payload         jsonb NOT NULL,
  created_at      timestamptz NOT NULL,
  deadline        timestamptz NOT NULL,
  sent_on         uuid, -- the connection that it was last sent on
  sent_at         timestamptz,
  acknowledged_at timestamptz,
  ended_at        timestamptz,
  outcome         text CHECK (outcome IN ('done', 'failed', 'expired')),
  error_code      text,
  error_message   text,
  FOREIGN KEY (tenant_id, artifact_hash) REFERENCES serve.artifacts (tenant_id, artifact_hash) ON DELETE CASCADE,
  CHECK ((outcome IS NULL) = (ended_at IS NULL))
);
-- One move of an artifact's bytes at a time: of two nodes that would freeze it one wins, and twenty viewers start one defrost.
CREATE UNIQUE INDEX node_commands_transfer ON serve.node_commands (tenant_id, artifact_hash)
 WHERE kind IN ('freeze', 'defrost') AND outcome IS NULL;
CREATE UNIQUE INDEX node_commands_delete ON serve.node_commands (tenant_id, artifact_hash, node_id)
 WHERE kind = 'delete' AND outcome IS NULL;
CREATE INDEX node_commands_open ON serve.node_commands (node_id, created_at) WHERE outcome IS NULL;
CREATE INDEX node_commands_due ON serve.node_commands (deadline) WHERE outcome IS NULL;
CREATE INDEX node_commands_ended ON serve.node_commands (ended_at) WHERE outcome IS NOT NULL;
SELECT platform.enable_row_level_security('serve.node_commands');
GRANT SELECT, INSERT, UPDATE ON serve.node_commands TO touchline_app;
GRANT SELECT ON serve.node_commands TO touchline_readonly;
GRANT SELECT, UPDATE (sent_on, sent_at), DELETE ON serve.node_commands TO touchline_system; -- what is open for a node, and of all tenants
