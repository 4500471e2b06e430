-- A statement that makes many events of one tenant and one type may put them into the inbox as one row: they are told
-- apart when they get their positions.

ALTER TABLE platform.event_inbox
  ADD COLUMN events integer NOT NULL DEFAULT 1, -- how many this row holds
  ADD COLUMN many   text; -- of a row that holds many: {id, key, revision, trace, data}, … without the brackets around
ALTER TABLE platform.event_inbox ALTER COLUMN many SET STORAGE EXTERNAL; -- it goes in a moment: not worth compressing
ALTER TABLE platform.event_inbox
  SET (toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000);
-- Nobody looks into `many` before the sequencer does, and what that cannot read would stop it: only functions of ours
-- write it.
REVOKE INSERT ON platform.event_inbox FROM touchline_app, touchline_worker;
GRANT INSERT (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
   ON platform.event_inbox TO touchline_app, touchline_worker;

-- The inbox, event by event.
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

-- As before, whole rows of the inbox at a time: a little more than asked for, if the last one holds many.
CREATE OR REPLACE FUNCTION platform.sequence_events(batch integer) RETURNS bigint
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
