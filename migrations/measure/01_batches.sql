-- Batches of events that still have to become facts. The events themselves are in ClickHouse: a batch is listed here before
-- its first row is written there, so that a crash loses none.
--
--   receiving -> stored -> folded
--       └-----> forgotten
--
-- Only the first state has a deadline: the sender may be gone, and then the rows in ClickHouse say whether the batch is
-- stored or never was. A delivery that was never finished and has no rows stays listed as forgotten: its insert may yet
-- arrive, and a second delivery keeps the time of the first, so that each record has one place in the order of arrival.

GRANT USAGE ON SCHEMA measure TO touchline_app, touchline_worker, touchline_readonly, touchline_system;

CREATE TABLE measure.batches (
  tenant_id   uuid NOT NULL,
  batch_id    text COLLATE "C" NOT NULL CHECK (length(batch_id) BETWEEN 1 AND 300),
  number      bigint GENERATED ALWAYS AS IDENTITY, -- the order in which they are folded
  source      text NOT NULL,
  content     text NOT NULL, -- SHA-256 of what was delivered: another content is another batch
  records     integer NOT NULL CHECK (records > 0),
  size_bytes  bigint NOT NULL CHECK (size_bytes >= 0),
  received_at timestamptz NOT NULL DEFAULT now(), -- of the first delivery, and of all its rows
  tried_at    timestamptz NOT NULL DEFAULT now(),
  reading     bigint NOT NULL, -- of the last delivery: its rows replace those of an earlier one
  state       text NOT NULL DEFAULT 'receiving' CHECK (state IN ('receiving', 'stored', 'folded', 'forgotten')),
  pass        bigint, -- the last pass that took it; one that was taken and is not folded was interrupted
  folded_at   timestamptz,
  PRIMARY KEY (tenant_id, batch_id)
);
CREATE INDEX batches_to_fold ON measure.batches (tenant_id, number) WHERE state = 'stored';
CREATE INDEX batches_arriving ON measure.batches (tried_at) WHERE state = 'receiving';
SELECT platform.enable_row_level_security('measure.batches');

-- Numbers of readings and of fold passes, for all tenants. What has the higher number wins in ClickHouse.
CREATE SEQUENCE measure.passes AS bigint;

GRANT SELECT, INSERT, UPDATE, DELETE ON measure.batches TO touchline_app, touchline_worker;
GRANT SELECT ON measure.batches TO touchline_readonly, touchline_system;
GRANT USAGE ON SEQUENCE measure.passes TO touchline_app, touchline_worker;
