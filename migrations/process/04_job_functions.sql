-- What workers and the API do with jobs. Each function returns the job as it is now, or nothing when it was refused:
-- another attempt holds it, the lease is over, or one like it is waiting already.

-- The id of an event of a job: a UUIDv7 that is computed, not drawn. Its end is the job's own, and between it and the
-- milliseconds stands the revision: no two events of a job share one. The prefix serves a whole statement.
CREATE FUNCTION process.event_prefix() RETURNS text
LANGUAGE sql VOLATILE
RETURN regexp_replace(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0'),
                      '(.{8})(.{4})', '\1-\2-7');

-- One event job.changed, as it is written in the inbox among many. A job that runs or is done keeps its last failure
-- beside its payload, but that is not its state.
CREATE FUNCTION process.change_text(prefix text, job process.jobs) RETURNS text
LANGUAGE sql STABLE
RETURN concat(
  '{"id":"', prefix, right(to_hex((job).revision + 4096), 3), substr((job).id::text, 19),
  '","key":"job:', (job).id, '","revision":', (job).revision, ',"trace":', coalesce(to_json((job).trace)::text, 'null'),
  ',"data":{"job_id":"', (job).id, '","job_type":"', (job).job_type, '","video_id":"', (job).video_id,
  '","status":"', (job).status, '","attempt":', (job).attempt, ',"retry_count":', (job).retry_count,
  ',"progress_percent":', coalesce((job).progress_percent::text, 'null'), ',"priority":', (job).priority,
  CASE WHEN (job).status IN ('queued', 'failed') AND (job).payload ? 'original_payload'
       THEN concat(',"error_type":', (job).payload #> '{error,type}', ',"error_message":', (job).payload #> '{error,message}')
       ELSE ',"error_type":null,"error_message":null' END,
  '}}');

-- Planned once, not again for each of the first calls: planning took longer than the statement itself. The plans of these
-- functions depend on no value and on no statistics.
CREATE FUNCTION process.enqueue(
  new_id uuid, kind process.job_type, video uuid, payload jsonb, priority integer DEFAULT 0, trace text DEFAULT NULL,
  not_before timestamptz DEFAULT NULL, parent uuid DEFAULT NULL, retries integer DEFAULT 3
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
  made process.jobs;
BEGIN
  INSERT INTO process.jobs AS j
         (tenant_id, id, video_id, job_type, payload, priority, trace, run_at, depends_on, max_retries)
  VALUES (platform.current_tenant(), new_id, video, kind, payload, priority, trace,
          coalesce(not_before, now()), parent, retries)
  ON CONFLICT (tenant_id, unique_key) WHERE band IS NOT NULL OR parked IS NOT NULL DO NOTHING
  RETURNING j.* INTO made;
  IF made.id IS NULL THEN
    RETURN;
  ELSIF parent IS NOT NULL THEN -- it may have failed already, and so did this one
    SELECT j.* INTO made FROM process.jobs AS j WHERE j.tenant_id = made.tenant_id AND j.id = new_id;
  END IF;
  INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
  SELECT e.id, made.tenant_id, 'job.changed', 1, e.key, e.revision, clock_timestamp(), e.trace, e.data
    FROM jsonb_to_record(process.change_text(process.event_prefix(), made)::jsonb)
      AS e (id uuid, key text, revision bigint, trace text, data jsonb);
  RETURN NEXT made;
END
$$;

-- Many at once: [{id, job_type, payload, priority, trace, run_at, depends_on}, …]. Parents come before their children.
CREATE FUNCTION process.enqueue_all(wanted jsonb) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  WITH made AS (
    INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload, priority, trace, run_at, depends_on)
    SELECT platform.current_tenant(), w.id, (w.payload ->> 'video_id')::uuid, w.job_type, w.payload,
           coalesce(w.priority, 0), w.trace, coalesce(w.run_at, now()), w.depends_on
      FROM jsonb_to_recordset(wanted) AS w (
        id uuid, job_type process.job_type, payload jsonb, priority integer, trace text, run_at timestamptz, depends_on uuid)
    ON CONFLICT (tenant_id, unique_key) WHERE band IS NOT NULL OR parked IS NOT NULL DO NOTHING
    RETURNING *
  ), reported AS (
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
    SELECT e.id, m.tenant_id, 'job.changed', 1, e.key, e.revision, clock_timestamp(), e.trace, e.data
      FROM (SELECT process.event_prefix() AS prefix OFFSET 0) AS now CROSS JOIN made AS m
     CROSS JOIN LATERAL jsonb_to_record(process.change_text(now.prefix, m)::jsonb)
        AS e (id uuid, key text, revision bigint, trace text, data jsonb)
  )
  SELECT * FROM made
$$;

CREATE FUNCTION process.heartbeat(job uuid, held integer, lease interval) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET locked_until = clock_timestamp() + lease
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

CREATE FUNCTION process.progress(job uuid, held integer, percent integer) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET progress_percent = greatest(progress_percent, percent)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

CREATE FUNCTION process.complete(worker text, job uuid, held integer, outcome jsonb) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  SELECT set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'done', result = outcome, progress_percent = 100, locked_by = NULL, locked_until = NULL
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING *
$$;

-- The wait before retry 1, 2 and 3.
CREATE FUNCTION process.retry_delay(retry_count integer) RETURNS interval
LANGUAGE sql VOLATILE
RETURN (ARRAY[60, 300, 900])[least(retry_count, 3)] * (0.8 + 0.4 * random()) * interval '1 second';

-- A failed job goes back to the queue, in the transaction in which it failed.
CREATE FUNCTION process.requeue(failed process.jobs, retries integer, not_before timestamptz) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  UPDATE process.jobs
     SET status = 'queued', retry_count = retries, run_at = not_before
   WHERE tenant_id = failed.tenant_id AND id = failed.id AND status = 'failed'
  RETURNING *
$$;

-- Three retries, after 60, 300 and 900 s (each × 0.8 to 1.2); what no retry would help fails for good at once. Returns
-- the job first, then whatever failed with it.
CREATE FUNCTION process.fail(
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

-- A worker that stops gives its job back: no retry is used up, and the job keeps its place.
CREATE FUNCTION process.release(worker text, job uuid, held integer, why text) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  released process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  UPDATE process.jobs
     SET status = 'failed', locked_by = NULL, locked_until = NULL,
         payload = process.failed_payload(payload, 'Released', why, retry_count)
   WHERE tenant_id = (SELECT platform.current_tenant()) AND id = job
     AND status = 'processing' AND attempt = held AND locked_until > clock_timestamp()
  RETURNING * INTO released;
  IF FOUND THEN
    RETURN QUERY SELECT * FROM process.requeue(released, released.retry_count, released.run_at);
  END IF;
END
$$;

-- For good, whether it waits or runs: whoever runs it has lost its lease and is notified. Returns the job first, then
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

-- The functions below work across tenants: a worker does not know the tenant before it has the job, and holds jobs of many.

-- Jobs that were parked until their time are placed in their bands.
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

-- Of each type in the order given, highest priority first, the tenants in turn: a plain scan of jobs_claim from where
-- the band is. A thorough claim also takes what came in behind: by a transaction that took long to commit, or by a
-- claim that was rolled back. Statistics may be old or missing, so the plan is not left to them.
CREATE FUNCTION process.claim(
  worker text, kinds process.job_type[], most integer, lease interval, thorough boolean DEFAULT true
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at      process.priority_bands;
  first   record;
  granted integer;
  prefix  text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  IF thorough THEN
    PERFORM process.wake_due(1000);
  END IF;
  FOR at IN
    SELECT l.* FROM process.priority_bands AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    SELECT j.start_tag, j.place INTO first FROM process.jobs AS j
     WHERE j.band = at.id AND j.status = 'queued'
       AND (j.start_tag, j.place) >= (CASE WHEN thorough THEN -1 ELSE at.virtual_time END, at.place)
     ORDER BY j.start_tag, j.place
     LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.band = at.id AND j.status = 'queued' AND (j.start_tag, j.place) >= (first.start_tag, first.place)
         ORDER BY j.start_tag, j.place
         LIMIT most
           FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE process.jobs AS j
           SET status = 'processing', locked_by = worker, locked_until = clock_timestamp() + lease,
               revision = j.revision + 1, was = 'queued', attempt = j.attempt + 1, started_at = clock_timestamp(),
               progress_percent = NULL
          FROM due
         WHERE j.ctid = due.ctid -- locked: it stays where it is
        RETURNING j.*
      ), reported AS (
        INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
        SELECT gen_random_uuid(), t.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}',
               count(*), string_agg(process.change_text(prefix, t), ',')
          FROM taken AS t
         GROUP BY t.tenant_id
      )
      SELECT * FROM taken;
    GET DIAGNOSTICS granted = ROW_COUNT;
    most := most - granted;
    IF first.start_tag - at.virtual_time + greatest(first.place - at.place, 0) > 64 THEN
      UPDATE process.priority_bands AS l SET virtual_time = first.start_tag, place = first.place
       WHERE (l.virtual_time, l.place) < (first.start_tag, first.place)
         AND l.id IN (SELECT x.id FROM process.priority_bands AS x WHERE x.id = at.id FOR UPDATE SKIP LOCKED);
    END IF;
    EXIT WHEN most <= 0;
  END LOOP;
END
$$;

-- One job of tenants other than those named: for a worker slot that a tenant may not have while others wait. The first
-- waiting job of a tenant is no further behind its band than the band moves at once, so that no claim scans a backlog
-- to find it.
CREATE FUNCTION process.claim_from_others(
  worker text, kinds process.job_type[], passed_over uuid[], lease interval
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  at     process.priority_bands;
  first  bigint;
  prefix text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOR at IN
    SELECT l.* FROM process.priority_bands AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    SELECT j.start_tag INTO first FROM process.jobs AS j
     WHERE j.band = at.id AND j.status = 'queued'
     ORDER BY j.start_tag, j.place
     LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.band = at.id AND j.status = 'queued'
           AND j.start_tag BETWEEN first AND greatest(first, at.virtual_time) + 128 -- twice what a band moves at once
           AND j.tenant_id <> ALL (passed_over)
         ORDER BY j.start_tag, j.place
         LIMIT 1
           FOR UPDATE SKIP LOCKED
      ), taken AS (
        UPDATE process.jobs AS j
           SET status = 'processing', locked_by = worker, locked_until = clock_timestamp() + lease,
               revision = j.revision + 1, was = 'queued', attempt = j.attempt + 1, started_at = clock_timestamp(),
               progress_percent = NULL
          FROM due
         WHERE j.ctid = due.ctid -- locked: it stays where it is
        RETURNING j.*
      ), reported AS (
        INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
        SELECT gen_random_uuid(), t.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}', 1,
               process.change_text(prefix, t)
          FROM taken AS t
      )
      SELECT * FROM taken;
    EXIT WHEN FOUND;
  END LOOP;
END
$$;

-- The jobs of one worker, of any tenant: which of them it still holds. The status is compared as text so that no plan
-- scans all leases for each of them.
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

-- Many completions that change nothing else. Returns those that were refused: what this attempt has completed, now or
-- by an earlier try whose answer was lost, is not among them. Of the jobs only what is reported of them is kept.
CREATE FUNCTION process.complete_all(
  worker text, tenants uuid[], jobs uuid[], attempts integer[], results jsonb
) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  prefix  text := process.event_prefix();
  granted bigint;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  WITH done AS (
    UPDATE process.jobs AS j
       SET status = 'done', result = results -> (held.number::integer - 1), progress_percent = 100,
           locked_by = NULL, locked_until = NULL, revision = j.revision + 1, was = 'processing', finished_at = now(),
           band = NULL, parked = NULL
      FROM unnest(tenants, jobs, attempts) WITH ORDINALITY AS held (tenant_id, id, attempt, number)
     WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
       AND j.status::text = 'processing' AND j.locked_by = worker AND j.locked_until > clock_timestamp()
    RETURNING j.tenant_id, process.change_text(prefix, j) AS change
  ), reported AS (
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
    SELECT gen_random_uuid(), d.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}',
           count(*), string_agg(d.change, ',')
      FROM done AS d
     GROUP BY d.tenant_id
  )
  SELECT count(*) INTO granted FROM done;
  IF granted < cardinality(jobs) THEN
    RETURN QUERY
      SELECT held.id FROM unnest(tenants, jobs, attempts) AS held (tenant_id, id, attempt)
       WHERE NOT EXISTS (
         SELECT 1 FROM process.jobs AS j
          WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt AND j.status::text = 'done');
  END IF;
END
$$;

-- What a worker holds: for one whose connection broke in the middle of a claim. The claims are few and their jobs are
-- found by key: the other way round would scan all jobs, and the choice is not left to statistics.
CREATE FUNCTION process.held(worker text) RETURNS SETOF process.jobs
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
  SELECT job.*
    FROM (SELECT DISTINCT s.tenant_id, n.id FROM process.job_claims AS s CROSS JOIN LATERAL unnest(s.jobs) AS n (id)) AS s
   CROSS JOIN LATERAL (
     SELECT * FROM process.jobs AS j
      WHERE j.tenant_id = s.tenant_id AND j.id = s.id
        AND j.status = 'processing' AND j.locked_until > now() AND j.locked_by = worker OFFSET 0) AS job
$$;

-- Takes back jobs whose lease is over, and at once those of workers that are known to have `ended`: the caller knows it
-- by a lock that the operating system released (platform.presence); a worker's name belongs to one process and is never
-- used again, so that nothing of a living one is taken. Both count as a retry, without a further wait. A job that
-- cannot be given back is named in `passed_over` by the caller, and does not stop the others. Returns each job, then
-- whatever failed with it. One pass, in which no caller reads what another one is reading; claims that are still
-- running stay.
CREATE FUNCTION process.reclaim(
  worker text, most integer, ended text[] DEFAULT '{}', kinds text[] DEFAULT NULL, passed_over uuid[] DEFAULT '{}'
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  lost   process.jobs;
  failed process.jobs;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  FOR lost IN
    WITH looked_at AS MATERIALIZED (
      SELECT s.ctid AS claim, s.tenant_id, s.jobs FROM process.job_claims AS s FOR UPDATE SKIP LOCKED
    ), running AS MATERIALIZED (
      SELECT l.claim, l.tenant_id, n.id, job.locked_until, job.locked_by, job.job_type
        FROM looked_at AS l CROSS JOIN LATERAL unnest(l.jobs) AS n (id) CROSS JOIN LATERAL (
          SELECT j.locked_until, j.locked_by, j.job_type FROM process.jobs AS j
           WHERE j.tenant_id = l.tenant_id AND j.id = n.id AND j.status = 'processing' OFFSET 0) AS job
    ), cleared_away AS (
      DELETE FROM process.job_claims AS s
       WHERE s.ctid = ANY (ARRAY(SELECT l.claim FROM looked_at AS l EXCEPT SELECT r.claim FROM running AS r))
    ), expired AS MATERIALIZED (
      SELECT r.tenant_id, r.id FROM running AS r
       WHERE (r.locked_until <= now() OR r.locked_by = ANY (ended))
         AND (kinds IS NULL OR r.job_type::text = ANY (kinds)) AND r.id <> ALL (passed_over)
       GROUP BY r.tenant_id, r.id
       ORDER BY min(r.locked_until)
    )
    SELECT job.* FROM expired AS e CROSS JOIN LATERAL (
      SELECT * FROM process.jobs AS j
       WHERE j.tenant_id = e.tenant_id AND j.id = e.id AND j.status = 'processing'
         AND (j.locked_until <= now() OR j.locked_by = ANY (ended))
         FOR UPDATE SKIP LOCKED) AS job
     LIMIT most
  LOOP
    UPDATE process.jobs AS j
       SET status = 'failed', locked_by = NULL, locked_until = NULL,
           payload = CASE WHEN lost.locked_until <= now()
             THEN process.failed_payload(
               j.payload, 'LeaseExpired', format('%s was not heard of in time', lost.locked_by), j.retry_count)
             ELSE process.failed_payload(
               j.payload, 'WorkerDied', format('%s ended without giving it back', lost.locked_by), j.retry_count) END
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
  process.claim_from_others(text, process.job_type[], uuid[], interval),
  process.heartbeats(text, uuid[], uuid[], integer[], interval),
  process.complete_all(text, uuid[], uuid[], integer[], jsonb),
  process.held(text),
  process.reclaim(text, integer, text[], text[], uuid[])
  FROM PUBLIC;
-- Without a login of their own, workers connect as the application.
GRANT EXECUTE ON FUNCTION
  process.wake_due(integer),
  process.claim(text, process.job_type[], integer, interval, boolean),
  process.claim_from_others(text, process.job_type[], uuid[], interval),
  process.heartbeats(text, uuid[], uuid[], integer[], interval),
  process.complete_all(text, uuid[], uuid[], integer[], jsonb),
  process.held(text),
  process.reclaim(text, integer, text[], text[], uuid[])
  TO touchline_worker, touchline_app;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the functions over
ALTER FUNCTION process.wake_due(integer) OWNER TO touchline_definer;
ALTER FUNCTION process.claim(text, process.job_type[], integer, interval, boolean) OWNER TO touchline_definer;
ALTER FUNCTION process.claim_from_others(text, process.job_type[], uuid[], interval) OWNER TO touchline_definer;
ALTER FUNCTION process.heartbeats(text, uuid[], uuid[], integer[], interval) OWNER TO touchline_definer;
ALTER FUNCTION process.complete_all(text, uuid[], uuid[], integer[], jsonb) OWNER TO touchline_definer;
ALTER FUNCTION process.held(text) OWNER TO touchline_definer;
ALTER FUNCTION process.reclaim(text, integer, text[], text[], uuid[]) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
