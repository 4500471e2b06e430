-- Periodic tasks: one row each, claimed by any process. `attempt` fences a claim; until the holder finishes,
-- `next_run_at` is the end of its lease, so a run whose process died is simply due again.

CREATE TABLE platform.periodic (
  name         text PRIMARY KEY,
  every        interval NOT NULL,
  next_run_at  timestamptz NOT NULL DEFAULT now(),
  attempt      bigint NOT NULL DEFAULT 0,
  running      boolean NOT NULL DEFAULT false,
  claimed_by   text,
  started_at   timestamptz,
  finished_at  timestamptz,
  failures     integer NOT NULL DEFAULT 0,
  last_error   text
);
GRANT SELECT ON platform.periodic TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.periodic TO touchline_system;
