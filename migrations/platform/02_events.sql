-- The event log. Writers insert events into the inbox in their own transaction; after commit, one sequencer moves them into
-- the log with gapless positions. Identity values alone would not do: they commit out of order.

-- A statement that makes many events of one tenant and one type may insert them as one row: they are separated when they
-- get their positions.
CREATE TABLE platform.event_inbox (
  sequence    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id          uuid NOT NULL,
  tenant_id   uuid NOT NULL,
  type        text NOT NULL,
  version     integer NOT NULL,
  key         text NOT NULL,
  revision    bigint NOT NULL,
  occurred_at timestamptz NOT NULL,
  trace       text,
  data        jsonb NOT NULL,
  events      integer NOT NULL DEFAULT 1, -- how many this row holds
  many        text -- of a row that holds many: {id, key, revision, trace, data}, … without the brackets around
);
ALTER TABLE platform.event_inbox ALTER COLUMN many SET STORAGE EXTERNAL; -- short-lived: not worth compressing
-- Rows come and go; what is left between two vacuums must not slow the next read.
ALTER TABLE platform.event_inbox SET (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000
);
SELECT platform.enable_row_level_security('platform.event_inbox');
-- Not `many`: a value that the sequencer cannot parse would stop it, so only our own functions write it.
GRANT INSERT (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
   ON platform.event_inbox TO touchline_app, touchline_worker;
GRANT SELECT, INSERT, DELETE ON platform.event_inbox TO touchline_system;

-- The inbox, one row an event.
CREATE VIEW platform.waiting_events WITH (security_invoker = true) AS
SELECT i.sequence, 1::bigint AS number,
       i.id, i.tenant_id, i.type, i.version, i.key, i.revision, i.occurred_at, i.trace, i.data
  FROM platform.event_inbox AS i
 WHERE i.many IS NULL
UNION ALL
SELECT i.sequence, m.number,
       m.id, i.tenant_id, i.type, i.version, m.key, m.revision, i.occurred_at, m.trace, m.data
  FROM platform.event_inbox AS i
 CROSS JOIN LATERAL ROWS FROM (
   jsonb_to_recordset(('[' || i.many || ']')::jsonb) AS (id uuid, key text, revision bigint, trace text, data jsonb)
 ) WITH ORDINALITY AS m (id, key, revision, trace, data, number)
 WHERE i.many IS NOT NULL;
GRANT SELECT ON platform.waiting_events TO touchline_system;

CREATE TABLE platform.events (
  position    bigint PRIMARY KEY,
  id          uuid NOT NULL,
  tenant_id   uuid NOT NULL,
  type        text NOT NULL,
  version     integer NOT NULL,
  key         text NOT NULL,
  revision    bigint NOT NULL,
  occurred_at timestamptz NOT NULL,
  trace       text,
  data        jsonb NOT NULL
);
CREATE INDEX events_tenant ON platform.events (tenant_id, position);
SELECT platform.enable_row_level_security('platform.events');
GRANT SELECT ON platform.events TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, DELETE ON platform.events TO touchline_system;

-- One row: the last position given, and the first one still in the table (older ones are in the archive).
CREATE TABLE platform.event_head (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  position  bigint NOT NULL DEFAULT 0,
  oldest    bigint NOT NULL DEFAULT 1
);
INSERT INTO platform.event_head DEFAULT VALUES;
GRANT SELECT ON platform.event_head TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, UPDATE ON platform.event_head TO touchline_system;

-- Gives positions to committed events, oldest first, and returns how many; -1 when another sequencer is running. Takes
-- whole rows of the inbox: slightly more than `batch` if the last one holds many. The advisory lock only saves a second
-- sequencer the wait: it is the lock on the head that keeps positions gapless.
CREATE FUNCTION platform.sequence_events(batch integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  head  bigint;
  moved bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(7450521002) THEN
    RETURN -1;
  END IF;
  SELECT position INTO head FROM platform.event_head FOR UPDATE;
  WITH due AS MATERIALIZED (
    SELECT r.sequence FROM (
      SELECT o.sequence, sum(o.events) OVER (ORDER BY o.sequence) - o.events AS before
        FROM (SELECT i.sequence, i.events FROM platform.event_inbox AS i ORDER BY i.sequence LIMIT batch) AS o
    ) AS r
     WHERE r.before < batch
  ), gone AS (
    DELETE FROM platform.event_inbox WHERE sequence <= (SELECT max(d.sequence) FROM due AS d)
  ), placed AS (
    INSERT INTO platform.events
    SELECT head + row_number() OVER (ORDER BY w.sequence, w.number),
           w.id, w.tenant_id, w.type, w.version, w.key, w.revision, w.occurred_at, w.trace, w.data
      FROM platform.waiting_events AS w
     WHERE w.sequence <= (SELECT max(d.sequence) FROM due AS d)
    RETURNING 1
  )
  SELECT count(*) INTO moved FROM placed;
  IF moved > 0 THEN
    UPDATE platform.event_head SET position = head + moved;
    PERFORM pg_notify('touchline_events', (head + moved)::text);
  END IF;
  RETURN moved;
END
$$;

CREATE FUNCTION platform.wake_sequencer() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('touchline_inbox', '');
  RETURN NULL;
END
$$;
CREATE TRIGGER wake_sequencer AFTER INSERT ON platform.event_inbox
  FOR EACH STATEMENT EXECUTE FUNCTION platform.wake_sequencer();

-- How far each consumer has read. The row lock is the consumer's lease: effects and cursor commit together.
CREATE TABLE platform.consumers (
  name       text PRIMARY KEY,
  position   bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON platform.consumers TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.consumers TO touchline_system;

-- Events that a consumer could not process. They stay visible until someone retries or dismisses them.
CREATE TABLE platform.poison_events (
  consumer     text NOT NULL REFERENCES platform.consumers (name),
  position     bigint NOT NULL,
  tenant_id    uuid NOT NULL,
  event_type   text NOT NULL,
  error        text NOT NULL,
  state        text NOT NULL DEFAULT 'set_aside' CHECK (state IN ('set_aside', 'retry', 'resolved', 'dismissed')),
  set_aside_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, position)
);
SELECT platform.enable_row_level_security('platform.poison_events');
GRANT SELECT ON platform.poison_events TO touchline_app, touchline_readonly;
GRANT SELECT, INSERT, UPDATE ON platform.poison_events TO touchline_system;

-- Where old events were moved: whole, aligned ranges of positions, one object each.
CREATE TABLE platform.event_archives (
  first_position bigint PRIMARY KEY,
  last_position  bigint NOT NULL,
  object_key     text NOT NULL,
  sha256         text NOT NULL,
  archived_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT ON platform.event_archives TO touchline_system;
