-- What every job pays for, cheaper: the rules stay as they are.

-- The state before the last change, so that the history needs no second look at the rows as they were.
ALTER TABLE process.jobs ADD COLUMN was process.job_status;

CREATE OR REPLACE FUNCTION process.guard_new_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'queued' OR NEW.retry_count <> 0 OR NEW.revision <> 1 OR NEW.was IS NOT NULL THEN
    PERFORM process.refuse(NEW.id, 'a job begins queued');
  END IF;
  IF (NEW.payload ->> 'video_id')::uuid IS DISTINCT FROM NEW.video_id THEN
    PERFORM process.refuse(NEW.id, 'its payload names another video');
  END IF;
  NEW.unique_key := process.unique_key(NEW.job_type, NEW.video_id, NEW.payload);
  -- Outputs lie under the attempt's number, so a later job of the same kind counts on.
  NEW.attempt := coalesce((
    SELECT max(j.attempt) FROM process.jobs AS j
     WHERE j.tenant_id = NEW.tenant_id AND j.video_id = NEW.video_id AND j.job_type = NEW.job_type), 0);
  RETURN NEW;
END
$$;

-- What a writer may not decide is looked at only when a statement names it.
CREATE FUNCTION process.keep_books() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.attempt := OLD.attempt;
  NEW.lane := OLD.lane;
  NEW.parked := OLD.parked;
  NEW.start_tag := OLD.start_tag;
  NEW.place := OLD.place;
  RETURN NEW;
END
$$;
CREATE TRIGGER guard_books BEFORE UPDATE OF attempt, lane, parked, start_tag, place ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.keep_books();

DROP TRIGGER guard_change ON process.jobs;
CREATE TRIGGER guard_change BEFORE UPDATE ON process.jobs
  FOR EACH ROW WHEN (OLD.status = 'done' OR (NEW.status = OLD.status AND NEW.retry_count <> OLD.retry_count))
  EXECUTE FUNCTION process.refuse_change();
CREATE TRIGGER guard_identity
  BEFORE UPDATE OF tenant_id, id, video_id, job_type, unique_key, created_at, depends_on, payload ON process.jobs
  FOR EACH ROW EXECUTE FUNCTION process.refuse_change();

-- Triggers fire by name: those above come first, the place after it.
CREATE OR REPLACE FUNCTION process.guard_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.was := OLD.status;
  IF NEW.status = OLD.status THEN
    RETURN NEW;
  ELSIF OLD.status = 'queued' AND NEW.status = 'processing' THEN
    IF OLD.parked = 'parent' AND NEW.locked_until > clock_timestamp() THEN
      PERFORM process.refuse(OLD.id, 'the job that it depends on is not done');
    END IF;
    NEW.attempt := OLD.attempt + 1;
    NEW.started_at := clock_timestamp();
    NEW.progress_percent := NULL;
  ELSIF OLD.status = 'processing' AND NEW.status IN ('done', 'failed') THEN
    NEW.finished_at := now();
    NEW.lane := NULL;
    NEW.parked := NULL;
  ELSIF OLD.status = 'failed' AND NEW.status = 'queued' THEN
    -- In the transaction that failed it, it only passes through; later, only a retry that starts at 0 brings it back.
    IF NEW.retry_count <> 0 AND (OLD.finished_at <> now() OR NEW.retry_count - OLD.retry_count NOT IN (0, 1)) THEN
      PERFORM process.refuse(OLD.id, 'it has failed for good');
    END IF;
    NEW.finished_at := NULL;
  ELSE
    PERFORM process.refuse(OLD.id, format('it cannot go from %s to %s', OLD.status, NEW.status));
  END IF;
  RETURN NEW;
END
$$;

-- One event job.changed, as it stands in the inbox among many. A job that runs or is done keeps its last failure beside
-- its payload, but that is not its state.
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

GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it replaces what is its own
SET LOCAL ROLE touchline_definer;
-- After every statement: the history, children whose parent is done, and a hint to waiting workers. Who acts and why is
-- told by the settings process.actor and process.reason.
CREATE OR REPLACE FUNCTION process.record_transitions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  actor  text := coalesce(nullif(current_setting('process.actor', true), ''), session_user);
  why    text := nullif(current_setting('process.reason', true), '');
  now_ms bigint;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM new_jobs) THEN
    RETURN NULL;
  END IF;
  INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
  SELECT n.tenant_id, n.id, n.was, n.status, n.attempt, n.retry_count, actor,
         CASE WHEN why IS NOT NULL THEN why
              WHEN n.was = 'failed' OR n.status = 'failed'
              THEN concat_ws(': ', n.payload #>> '{error,type}', n.payload #>> '{error,message}') END
    FROM new_jobs AS n
   WHERE n.was IS DISTINCT FROM n.status;
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT 1 FROM new_jobs AS n WHERE n.parked = 'parent') THEN
      PERFORM process.fail_children(p) FROM process.jobs AS p
        JOIN (SELECT DISTINCT n.tenant_id, n.depends_on FROM new_jobs AS n WHERE n.parked = 'parent') AS wanted
          ON p.tenant_id = wanted.tenant_id AND p.id = wanted.depends_on
       WHERE p.status = 'failed';
    END IF;
  ELSE
    INSERT INTO process.slips (tenant_id, job_id)
    SELECT n.tenant_id, n.id FROM new_jobs AS n WHERE n.status = 'processing' AND n.was = 'queued';
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

GRANT EXECUTE ON FUNCTION process.record_transitions() TO SESSION_USER; -- only while the trigger is made
RESET ROLE;
DROP TRIGGER record_transitions ON process.jobs;
CREATE TRIGGER record_transitions AFTER UPDATE ON process.jobs REFERENCING NEW TABLE AS new_jobs
  FOR EACH STATEMENT EXECUTE FUNCTION process.record_transitions();

CREATE FUNCTION process.record_priority() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO process.job_events (tenant_id, job_id, from_status, to_status, attempt, retry_count, actor, reason)
  VALUES (NEW.tenant_id, NEW.id, NEW.status, NEW.status, NEW.attempt, NEW.retry_count,
          coalesce(nullif(current_setting('process.actor', true), ''), session_user),
          format('priority %s, was %s', NEW.priority, OLD.priority));
  RETURN NULL;
END
$$;
CREATE TRIGGER record_priority AFTER UPDATE OF priority ON process.jobs
  FOR EACH ROW WHEN (NEW.priority <> OLD.priority) EXECUTE FUNCTION process.record_priority();
REVOKE EXECUTE ON FUNCTION process.record_priority() FROM PUBLIC;
ALTER FUNCTION process.record_priority() OWNER TO touchline_definer;

DROP FUNCTION process.event_id(text, uuid, bigint), process.change(process.jobs);

CREATE OR REPLACE FUNCTION process.enqueue(
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

-- Many at once: [{id, job_type, payload, priority, trace, run_at, depends_on}, …]. Parents stand before their children.
CREATE OR REPLACE FUNCTION process.enqueue_all(wanted jsonb) RETURNS SETOF process.jobs
LANGUAGE sql VOLATILE AS $$
  WITH made AS (
    INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload, priority, trace, run_at, depends_on)
    SELECT platform.current_tenant(), w.id, (w.payload ->> 'video_id')::uuid, w.job_type, w.payload,
           coalesce(w.priority, 0), w.trace, coalesce(w.run_at, now()), w.depends_on
      FROM jsonb_to_recordset(wanted) AS w (
        id uuid, job_type process.job_type, payload jsonb, priority integer, trace text, run_at timestamptz, depends_on uuid)
    ON CONFLICT (tenant_id, unique_key) WHERE lane IS NOT NULL OR parked IS NOT NULL DO NOTHING
    RETURNING *
  ), told AS (
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
    SELECT e.id, m.tenant_id, 'job.changed', 1, e.key, e.revision, clock_timestamp(), e.trace, e.data
      FROM (SELECT process.event_prefix() AS prefix OFFSET 0) AS now CROSS JOIN made AS m
     CROSS JOIN LATERAL jsonb_to_record(process.change_text(now.prefix, m)::jsonb)
        AS e (id uuid, key text, revision bigint, trace text, data jsonb)
  )
  SELECT * FROM made
$$;

SET LOCAL ROLE touchline_definer;
REVOKE EXECUTE ON FUNCTION process.record_transitions() FROM SESSION_USER;

-- Of each type in the order given, highest priority first, the tenants in turn: a plain scan of jobs_claim from where the
-- lane is. A thorough claim also takes what came in behind: by a transaction that took long to commit, or by a claim that
-- was undone. Statistics may be old or missing, so the plan is not left to them.
CREATE OR REPLACE FUNCTION process.claim(
  worker text, kinds process.job_type[], most integer, lease interval, thorough boolean DEFAULT true
) RETURNS SETOF process.jobs
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off AS $$
DECLARE
  at      process.lanes;
  first   record;
  granted integer;
  prefix  text := process.event_prefix();
BEGIN
  PERFORM set_config('process.actor', worker, true);
  IF thorough THEN
    PERFORM process.wake_due(1000);
  END IF;
  FOR at IN
    SELECT l.* FROM process.lanes AS l JOIN unnest(kinds) WITH ORDINALITY AS k (kind, turn) ON l.job_type = k.kind
     ORDER BY k.turn, l.priority DESC
  LOOP
    SELECT j.start_tag, j.place INTO first FROM process.jobs AS j
     WHERE j.lane = at.id AND j.status = 'queued'
       AND (j.start_tag, j.place) >= (CASE WHEN thorough THEN -1 ELSE at.virtual_time END, at.place)
     ORDER BY j.start_tag, j.place
     LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY
      WITH due AS MATERIALIZED (
        SELECT j.ctid FROM process.jobs AS j
         WHERE j.lane = at.id AND j.status = 'queued' AND (j.start_tag, j.place) >= (first.start_tag, first.place)
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
      UPDATE process.lanes AS l SET virtual_time = first.start_tag, place = first.place
       WHERE (l.virtual_time, l.place) < (first.start_tag, first.place)
         AND l.id IN (SELECT x.id FROM process.lanes AS x WHERE x.id = at.id FOR UPDATE SKIP LOCKED);
    END IF;
    EXIT WHEN most <= 0;
  END LOOP;
END
$$;

-- Many completions that change nothing else. Answers those that were refused: what this attempt has done, now or by an
-- earlier try whose answer was lost, is not among them.
CREATE OR REPLACE FUNCTION process.complete_all(
  worker text, tenants uuid[], jobs uuid[], attempts integer[], results jsonb
) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  prefix  text := process.event_prefix();
  granted bigint;
BEGIN
  PERFORM set_config('process.actor', worker, true);
  WITH done AS (
    UPDATE process.jobs AS j
       SET status = 'done', result = results -> (held.number::integer - 1), progress_percent = 100,
           locked_by = NULL, locked_until = NULL
      FROM unnest(tenants, jobs, attempts) WITH ORDINALITY AS held (tenant_id, id, attempt, number)
     WHERE j.tenant_id = held.tenant_id AND j.id = held.id AND j.attempt = held.attempt
       AND j.status::text = 'processing' AND j.locked_by = worker AND j.locked_until > clock_timestamp()
    RETURNING j.*
  ), told AS (
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
    SELECT gen_random_uuid(), d.tenant_id, 'job.changed', 1, '', 0, clock_timestamp(), '{}',
           count(*), string_agg(process.change_text(prefix, d), ',')
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
RESET ROLE;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
