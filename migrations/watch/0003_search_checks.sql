-- Whether the search works, by the hourly query that shows it: one row, the last look.

CREATE TABLE watch.search_checks (
  tenant_id      uuid NOT NULL,
  checked_at     timestamptz NOT NULL,
  works          boolean NOT NULL,
  found          integer NOT NULL DEFAULT 0, -- videos
  took_ms        integer NOT NULL,
  failure        text, -- why it does not work, and what to do
  worked_at      timestamptz, -- the last time that it did
  failures       integer NOT NULL DEFAULT 0, -- looks in a row that failed
  PRIMARY KEY (tenant_id)
);
SELECT platform.raise_wall('watch.search_checks');

GRANT SELECT, INSERT, UPDATE, DELETE ON watch.search_checks TO touchline_app, touchline_worker;
GRANT SELECT ON watch.search_checks TO touchline_readonly, touchline_system;
