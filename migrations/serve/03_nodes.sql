-- Nodes: the machines that hold copies. They belong to the installation, to no tenant. `connection_id` is the stream that
-- speaks for the node: messages of an older one are ignored.

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
