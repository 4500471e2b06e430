-- The acts on jobs, once more and complete: parents and children, cancelling, retrying, priorities, batches.

-- What looks over the wall belongs to this role, and only its owner may replace it.
GRANT CREATE ON SCHEMA process TO touchline_definer;

-- Events of jobs come from here where jobs move by the hundred; the rest is announced by whoever acts.
CREATE POLICY process_door ON platform.event_inbox FOR INSERT TO touchline_definer WITH CHECK (true);
GRANT INSERT ON platform.event_inbox TO touchline_definer;

-- The id of an event of a job: a UUIDv7 that is computed, not drawn. The end is the job's own, and between it and the
-- milliseconds stands the revision: no two events of a job share one. Its first part serves a whole statement.
CREATE FUNCTION process.event_prefix() RETURNS text
LANGUAGE sql VOLATILE
RETURN regexp_replace(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0'),
                      '(.{8})(.{4})', '\1-\2-7');
CREATE FUNCTION process.event_id(prefix text, job uuid, revision bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN (prefix || right(to_hex(revision + 4096), 3) || substr(job::text, 19))::uuid;

-- The data of the event job.changed. A job that runs or is done keeps its last failure, but that is not its state.
CREATE FUNCTION process.change(job process.jobs) RETURNS jsonb
LANGUAGE sql STABLE
RETURN jsonb_build_object(
  'job_id', (job).id, 'job_type', (job).job_type, 'video_id', (job).video_id, 'status', (job).status,
  'attempt', (job).attempt, 'retry_count', (job).retry_count, 'progress_percent', (job).progress_percent,
  'priority', (job).priority, 'error_type', NULL, 'error_message', NULL);

SET LOCAL ROLE touchline_definer;
-- After every statement: the history, children whose parent is done, and a hint to waiting workers. Who acts and why is
-- told by the settings process.actor and process.reason.
CREATE OR REPLACE FUNCTION process.record_transitions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- A plan for one row is kept for a thousand: old and new rows must not be compared each with each.
SET enable_seqscan = off SET enable_nestloop = off SET enable_hashjoin = on AS $$
DECLARE
  actor  text := coalesce(nullif(current_setting('process.actor', true), ''), session_user);
  why    text := nullif(current_setting('process.reason', true), '');
  now_ms bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM new_jobs) THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO process.job_events (tenant_id, job_id, to_status, attempt, retry_count, actor, reason)
    SELECT n.tenant_id, n.id, n.status, n.attempt, n.retry_count, actor, why FROM new_jobs AS n;
    IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.parked = 'parent') THEN
      PERFORM process.fail_children(p) FROM process.jobs AS p
        JOIN (SELECT DISTINCT n.tenant_id, n.depends_on FROM new_jobs AS n WHERE n.parked = 'parent') AS wanted
          ON p.tenant_id = wanted.tenant_id AND p.id = wanted.depends_on
       WHERE p.status = 'failed';
    END IF;
  ELSE
    INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
    SELECT n.tenant_id, n.id, o.status, n.status, n.attempt, n.retry_count, actor,
           CASE WHEN o.priority <> n.priority THEN format('priority %s, was %s', n.priority, o.priority)
                WHEN why IS NOT NULL THEN why
                WHEN 'failed' IN (o.status, n.status)
                THEN concat_ws(': ', n.payload #>> '{error,type}', n.payload #>> '{error,message}') END
      FROM new_jobs AS n JOIN old_jobs AS o ON o.tenant_id = n.tenant_id AND o.id = n.id
     WHERE o.status <> n.status OR o.priority <> n.priority;
    INSERT INTO process.slips (tenant_id, job_id)
    SELECT n.tenant_id, n.id FROM new_jobs AS n JOIN old_jobs AS o ON o.tenant_id = n.tenant_id AND o.id = n.id
     WHERE n.status = 'processing' AND o.status = 'queued';
    IF EXISTS (SELECT 1 FROM new_jobs AS n CROSS JOIN LATERAL (
                 SELECT 1 FROM process.jobs AS c WHERE c.tenant_id = n.tenant_id AND c.depends_on = n.id LIMIT 1) AS child
                WHERE n.status = 'done') THEN
      UPDATE process.jobs AS c SET run_at = c.run_at FROM new_jobs AS n
       WHERE n.status = 'done' AND c.tenant_id = n.tenant_id AND c.depends_on = n.id AND c.parked = 'parent';
    END IF;
  END IF;
  IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.status = 'queued' AND n.lane IS NOT NULL) THEN
    -- One wake-up in 5 ms is enough: whoever was woken looks once more shortly after.
    now_ms := extract(epoch FROM clock_timestamp()) * 1000;
    IF (SELECT s.last_value FROM process.woken_at_ms AS s) NOT BETWEEN now_ms - 4 AND now_ms THEN
      PERFORM setval('process.woken_at_ms', now_ms), pg_notify('touchline_jobs', '');
    END IF;
  END IF;
  RETURN NULL;
END
$$;

RESET ROLE;

-- The way of a job that nobody runs from the queue to its end: over `processing`, by a lease that is over at once.
CREATE FUNCTION process.walk_to_failed(job process.jobs, error_type text, error_message text) RETURNS process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  failed process.jobs;
BEGIN
  UPDATE process.jobs SET status = 'processing', locked_by = coalesce(current_setting('process.actor', true), ''),
         locked_until = now()
   WHERE tenant_id = job.tenant_id AND id = job.id AND status = 'queued';
  UPDATE process.jobs SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, error_type, error_message, retry_count)
   WHERE tenant_id = job.tenant_id AND id = job.id AND status = 'processing'
  RETURNING * INTO failed;
  RETURN failed;
END
$$;

-- What waits for a job that has failed for good fails too, and what waits for that. Answers the jobs that failed.
CREATE FUNCTION process.fail_children(parent process.jobs) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  child  process.jobs;
  failed process.jobs;
BEGIN
  FOR child IN
    SELECT * FROM process.jobs
     WHERE tenant_id = parent.tenant_id AND depends_on = parent.id AND status = 'queued'
     ORDER BY id FOR UPDATE
  LOOP
    failed := process.walk_to_failed(child, 'ParentFailed', format(
      '%s job %s failed: %s', parent.job_type, parent.id,
      concat_ws(': ', parent.payload #>> '{error,type}', left(parent.payload #>> '{error,message}', 500))));
    RETURN NEXT failed;
    RETURN QUERY SELECT * FROM process.fail_children(failed);
  END LOOP;
END
$$;

-- Whoever fails a job by plain SQL fails what waits for it as well: at the end of the transaction, when it is known
-- whether the job only passed through.
CREATE FUNCTION process.fail_children_at_commit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM process.fail_children(j) FROM process.jobs AS j
    WHERE j.tenant_id = NEW.tenant_id AND j.id = NEW.id AND j.status = 'failed';
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER fail_children AFTER UPDATE ON process.jobs DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.status = 'failed' AND OLD.status <> 'failed') EXECUTE FUNCTION process.fail_children_at_commit();
REVOKE EXECUTE ON FUNCTION process.fail_children_at_commit() FROM PUBLIC;
ALTER FUNCTION process.fail_children_at_commit() OWNER TO touchline_definer;

DROP FUNCTION process.enqueue(uuid, process.job_type, uuid, jsonb, integer, text);
CREATE FUNCTION process.enqueue(
  new_id uuid, kind process.job_type, video uuid, payload jsonb, priority integer DEFAULT 0, trace text DEFAULT NULL,
  not_before timestamptz DEFAULT NULL, parent uuid DEFAULT NULL, retries integer DEFAULT 3
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_variable
DECLARE
  made process.jobs;
BEGIN
  INSERT INTO process.jobs AS j
         (tenant_id, id, video_id, job_type, payload, priority, trace, run_at, depends_on, max_retries)
  VALUES (platform.current_tenant(), new_id, video, kind, payload, priority, trace,
          coalesce(not_before, now()), parent, retries)
  ON CONFLICT (tenant_id, unique_key) WHERE lane IS NOT NULL OR parked IS NOT NULL DO NOTHING
  RETURNING j.* INTO made;
  IF made.id IS NULL THEN
    RETURN;
  ELSIF parent IS NULL THEN
    RETURN NEXT made;
  ELSE -- its parent may have failed already, and so did it
    RETURN QUERY SELECT j.* FROM process.jobs AS j WHERE j.tenant_id = made.tenant_id AND j.id = new_id;
  END IF;
END
$$;

-- Many at once: [{id, job_type, payload, priority, trace, run_at, depends_on}, …]. Parents stand before their children.
CREATE FUNCTION process.enqueue_all(wanted jsonb) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload, priority, trace, run_at, depends_on)
  SELECT platform.current_tenant(), w.id, (w.payload ->> 'video_id')::uuid, w.job_type, w.payload,
         coalesce(w.priority, 0), w.trace, coalesce(w.run_at, now()), w.depends_on
    FROM jsonb_to_recordset(wanted) AS w (
      id uuid, job_type process.job_type, payload jsonb, priority integer, trace text, run_at timestamptz, depends_on uuid)
  ON CONFLICT (tenant_id, unique_key) WHERE lane IS NOT NULL OR parked IS NOT NULL DO NOTHING
  RETURNING *
$$;

-- Answers the job first, then whatever failed with it.
CREATE OR REPLACE FUNCTION process.fail(
  worker text, job uuid, held integer, error_type text, error_message text, retryable boolean
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, error_type, error_message, retry_count)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING * INTO failed;
  IF NOT FOUND THEN
    RETURN;
  ELSIF retryable AND failed.retry_count < failed.max_retries THEN
    RETURN QUERY SELECT * FROM process.requeue(
      failed, failed.retry_count + 1, now() + process.retry_delay(failed.retry_count + 1));
  ELSE
    RETURN NEXT failed;
    RETURN QUERY SELECT * FROM process.fail_children(failed);
  END IF;
END
$$;

-- For good, whether it waits or runs: whoever runs it has lost its lease and is told to look. Answers the job first, then
-- whatever failed with it; nothing when it has ended already.
CREATE FUNCTION process.cancel(actor text, job uuid, why text) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  target process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', actor, true);
  SELECT * INTO target FROM process.jobs
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job AND status IN ('queued', 'processing')
     FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  failed := process.walk_to_failed(target, 'Cancelled', why);
  IF target.status = 'processing' THEN
    PERFORM pg_notify('touchline_job_stops', '');
  END IF;
  RETURN NEXT failed;
  RETURN QUERY SELECT * FROM process.fail_children(failed);
END
$$;

-- Back from the dead letters with all its retries, and with it what had failed only because of it.
CREATE FUNCTION process.retry(actor text, job uuid, why text) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  revived process.jobs;
  child   uuid;
BEGIN
  PERFORM set_config('process.actor', actor, true), set_config('process.reason', why, true);
  UPDATE process.jobs AS j
     SET status = 'queued', retry_count = 0, run_at = now()
   WHERE j.tenant_id = (SELECT platform.current_tenant()) AND j.id = job AND j.status = 'failed'
     AND NOT EXISTS (SELECT 1 FROM process.jobs AS p
                      WHERE p.tenant_id = j.tenant_id AND p.id = j.depends_on AND p.status = 'failed')
  RETURNING j.* INTO revived;
  PERFORM set_config('process.reason', '', true);
  IF revived.id IS NULL THEN
    RETURN;
  END IF;
  RETURN NEXT revived;
  FOR child IN
    SELECT c.id FROM process.jobs AS c
     WHERE c.tenant_id = revived.tenant_id AND c.depends_on = job AND c.status = 'failed'
       AND c.payload #>> '{error,type}' = 'ParentFailed'
     ORDER BY c.id
  LOOP
    RETURN QUERY SELECT * FROM process.retry(actor, child, why);
  END LOOP;
END
$$;

CREATE FUNCTION process.reprioritise(actor text, job uuid, wanted integer) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  SELECT set_config('process.actor', actor, true);
  UPDATE process.jobs SET priority = wanted
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job AND status IN ('queued', 'processing')
  RETURNING *
$$;

SET LOCAL ROLE touchline_definer;
-- Those that look over the wall: a worker does not know the tenant before it has the job, and holds jobs of many.

-- What was parked until its time takes its place in its lane.
CREATE FUNCTION process.wake_due(most integer) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  WITH due AS MATERIALIZED (
    SELECT tenant_id, id FROM process.jobs
     WHERE parked = 'time' AND run_at <= now() ORDER BY run_at LIMIT most FOR UPDATE SKIP LOCKED
  ), woken AS (
    UPDATE process.jobs AS j SET run_at = j.run_at FROM due WHERE j.tenant_id = due.tenant_id AND j.id = due.id RETURNING 1
  )
  SELECT count(*) FROM woken
$$;

-- Of each type in the order given, highest priority first, the tenants in turn: a plain scan of jobs_claim from where the
-- lane is. A thorough claim also takes what came in behind: by a transaction that took long to commit, or by a claim that
-- was undone. Statistics may be old or missing, so the plan is not left to them.
DROP FUNCTION process.claim(text, process.job_type[], integer, interval);
CREATE FUNCTION process.claim(
  worker text, kinds process.job_type[], most integer, lease interval, thorough boolean DEFAULT true
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off AS $$
DECLARE
  at     process.lanes;
  taken  process.jobs;
  first  process.jobs;
  prefix text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  IF thorough THEN
    PERFORM process.wake_due(1000);
  END IF;
  FOR at IN
    SELECT l.* FROM process.lanes AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    first := NULL;
    FOR taken IN
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.lane = at.id AND j.status = 'queued'
           AND (j.start_tag, j.place) >= (CASE WHEN thorough THEN -1 ELSE at.virtual_time END, at.place)
         ORDER BY j.start_tag, j.place
         LIMIT most
           FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE process.jobs AS j
           SET status = 'processing', locked_by = worker, locked_until = clock_timestamp() + lease
          FROM due
         WHERE j.ctid = due.ctid -- locked: it stays where it is
        RETURNING j.*
      ), told AS (
        INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
        SELECT process.event_id(prefix, t.id, t.revision), t.tenant_id,
               'job.changed', 1, 'job:' || t.id, t.revision, clock_timestamp(), t.trace, process.change(t)
          FROM taken AS t
      )
      SELECT * FROM taken
    LOOP
      IF first.id IS NULL OR (taken.start_tag, taken.place) < (first.start_tag, first.place) THEN
        first := taken;
      END IF;
      most := most - 1;
      RETURN NEXT taken;
    END LOOP;
    IF first.start_tag - at.virtual_time + greatest(first.place - at.place, 0) > 64 THEN
      UPDATE process.lanes AS l SET virtual_time = first.start_tag, place = first.place
       WHERE (l.virtual_time, l.place) < (first.start_tag, first.place)
         AND l.id IN (SELECT x.id FROM process.lanes AS x WHERE x.id = at.id FOR UPDATE SKIP LOCKED);
    END IF;
    EXIT WHEN most <= 0;
  END LOOP;
END
$$;

-- The jobs of one worker, wherever they are: which of them are still its own. The state is compared as text so that no
-- plan goes through all leases for each of them.
CREATE FUNCTION process.heartbeats(worker text, tenants uuid[], jobs uuid[], attempts integer[], lease interval)
RETURNS SETOF uuid
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  UPDATE process.jobs AS j
     SET locked_until = clock_timestamp() + lease
    FROM unnest(tenants, jobs, attempts) AS held (tenant_id, id, attempt)
   WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
     AND j.status::text = 'processing' AND j.locked_by = worker AND j.locked_until > clock_timestamp()
  RETURNING j.id
$$;

-- Many completions that change nothing else. Answers those that are done by this attempt, now or by an
-- earlier try; one of them may come twice.
CREATE FUNCTION process.complete_all(worker text, tenants uuid[], jobs uuid[], attempts integer[], results jsonb)
RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  prefix  text := process.event_prefix();
  granted bigint;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  RETURN QUERY
    WITH done AS (
      UPDATE process.jobs AS j
         SET status = 'done', result = results -> (held.number::integer - 1), progress_percent = 100,
             locked_by = NULL, locked_until = NULL
        FROM unnest(tenants, jobs, attempts) WITH ORDINALITY AS held (tenant_id, id, attempt, number)
       WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
         AND j.status::text = 'processing' AND j.locked_by = worker AND j.locked_until > clock_timestamp()
      RETURNING j.*
    ), told AS (
      INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
      SELECT process.event_id(prefix, d.id, d.revision), d.tenant_id,
             'job.changed', 1, 'job:' || d.id, d.revision, clock_timestamp(), d.trace, process.change(d)
        FROM done AS d
    )
    SELECT d.id FROM done AS d;
  GET DIAGNOSTICS granted = ROW_COUNT;
  IF granted < cardinality(jobs) THEN -- refused, or the answer to an earlier try was lost
    RETURN QUERY
      SELECT j.id FROM process.jobs AS j
        JOIN unnest(tenants, jobs, attempts) AS held (tenant_id, id, attempt)
          ON j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
       WHERE j.status = 'done';
  END IF;
END
$$;

-- The slips are few and what they name is found by its key: the other way round would go through all jobs, and which
-- way is left to nobody's statistics.
CREATE OR REPLACE FUNCTION process.held(worker text) RETURNS SETOF process.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  SELECT job.* FROM (SELECT DISTINCT tenant_id, job_id FROM process.slips) AS s CROSS JOIN LATERAL (
    SELECT * FROM process.jobs AS j
     WHERE j.tenant_id = s.tenant_id AND j.id = s.job_id
       AND j.status = 'processing' AND j.locked_until > now() AND j.locked_by = worker OFFSET 0) AS job
$$;

-- Answers each job, then whatever failed with it. Of the slips those that are still good stay.
CREATE OR REPLACE FUNCTION process.reclaim(worker text, most integer) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  lost   process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  WITH ended AS MATERIALIZED (
    SELECT s.ctid FROM process.slips AS s CROSS JOIN LATERAL (
      SELECT 1 FROM process.jobs AS j
       WHERE j.tenant_id = s.tenant_id AND j.id = s.job_id AND j.status <> 'processing' OFFSET 0) AS job
     LIMIT 20000 FOR UPDATE OF s SKIP LOCKED
  )
  DELETE FROM process.slips AS s USING ended WHERE s.ctid = ended.ctid;
  FOR lost IN
    WITH expired AS MATERIALIZED (
      SELECT s.tenant_id, s.job_id FROM process.slips AS s CROSS JOIN LATERAL (
        SELECT j.locked_until FROM process.jobs AS j
         WHERE j.tenant_id = s.tenant_id AND j.id = s.job_id AND j.status = 'processing' AND j.locked_until <= now()
        OFFSET 0) AS job
       GROUP BY s.tenant_id, s.job_id
       ORDER BY min(job.locked_until)
    )
    SELECT job.* FROM expired AS e CROSS JOIN LATERAL (
      SELECT * FROM process.jobs AS j
       WHERE j.tenant_id = e.tenant_id AND j.id = e.job_id AND j.status = 'processing' AND j.locked_until <= now()
         FOR UPDATE SKIP LOCKED) AS job
     LIMIT most
  LOOP
    UPDATE process.jobs AS j
       SET status = 'failed', locked_by = NULL, locked_until = NULL,
           payload = process.failed_payload(
             j.payload, 'LeaseExpired', format('%s was not heard of in time', lost.locked_by), j.retry_count)
     WHERE j.tenant_id = lost.tenant_id AND j.id = lost.id
    RETURNING j.* INTO failed;
    IF failed.retry_count < failed.max_retries THEN
      RETURN QUERY SELECT * FROM process.requeue(failed, failed.retry_count + 1, now());
    ELSE
      RETURN NEXT failed;
      RETURN QUERY SELECT * FROM process.fail_children(failed);
    END IF;
  END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION
  process.wake_due(integer),
  process.claim(text, process.job_type[], integer, interval, boolean),
  process.heartbeats(text, uuid[], uuid[], integer[], interval),
  process.complete_all(text, uuid[], uuid[], integer[], jsonb)
  FROM PUBLIC;
-- Without a login of their own, workers connect as the application.
GRANT EXECUTE ON FUNCTION
  process.wake_due(integer),
  process.claim(text, process.job_type[], integer, interval, boolean),
  process.heartbeats(text, uuid[], uuid[], integer[], interval),
  process.complete_all(text, uuid[], uuid[], integer[], jsonb)
  TO touchline_worker, touchline_app, touchline_definer;
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
