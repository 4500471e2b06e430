-- Periodic tasks: one row each, claimed by any process. `attempt` fences a claim; until the holder finishes,
-- `next_run_at` is the end of its lease, so a run whose process died is simply due again. A task that must not do more than
-- so much in an interval takes it from its quota here, so that the limit holds for all machines and all runs together.

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
  last_error   text,
  limited_since    timestamptz, -- its limit has stopped it, and more is waiting; null: it did all there was to do
  quota_started_at timestamptz,
  quota_used       bigint NOT NULL DEFAULT 0
);
GRANT SELECT ON platform.periodic TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.periodic TO touchline_system;
