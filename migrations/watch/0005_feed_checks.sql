-- Whether the football feed answers, by the last time that it was asked for a day: one row. What it says is shown where
-- the matches would be.

CREATE TABLE watch.feed_checks (
  tenant_id   uuid NOT NULL,
  checked_at  timestamptz NOT NULL,
  failure     text,        -- what went wrong; null: it answered
  why         text,
  hint        text,        -- what to do next
  next_try_at timestamptz, -- of a failure: when it is asked again
  answered_at timestamptz, -- the last time that it did
  failures    integer NOT NULL DEFAULT 0, -- in a row
  PRIMARY KEY (tenant_id)
);
SELECT platform.raise_wall('watch.feed_checks');

GRANT SELECT, INSERT, UPDATE, DELETE ON watch.feed_checks TO touchline_app, touchline_worker;
GRANT SELECT ON watch.feed_checks TO touchline_readonly, touchline_system;
