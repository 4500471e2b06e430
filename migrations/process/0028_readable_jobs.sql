-- What nobody could read is refused when it is written: one such row would stop every list and every worker that meets it.

-- A payload beside its last failure, as process.failed_payload makes it, and nothing more.
CREATE FUNCTION process.is_failed_payload(payload jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN jsonb_typeof(payload -> 'error') = 'object' AND payload ? 'original_payload' THEN coalesce(
    payload - ARRAY['error', 'original_payload'] = '{}'
    AND (payload -> 'error') - ARRAY['type', 'message', 'retry_count', 'timestamp'] = '{}'
    AND jsonb_typeof(payload #> '{error,type}') = 'string' AND jsonb_typeof(payload #> '{error,message}') = 'string'
    AND payload #>> '{error,retry_count}' ~ '^\d{1,9}$'
    AND payload #>> '{error,timestamp}' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$', false)
  ELSE false END;

CREATE OR REPLACE FUNCTION process.guard_new_job() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> 'queued' OR NEW.retry_count <> 0 OR NEW.revision <> 1 OR NEW.was IS NOT NULL THEN
    PERFORM process.refuse(NEW.id, 'a job begins queued');
  END IF;
  IF NEW.payload ?| ARRAY['error', 'original_payload'] THEN
    PERFORM process.refuse(NEW.id, 'its payload stands beside an error already: enqueue the original payload');
  END IF;
  IF pg_column_size(NEW.payload) > 1048576 THEN
    PERFORM process.refuse(NEW.id, 'its payload is larger than 1 MiB');
  END IF;
  IF (NEW.payload ->> 'video_id')::uuid IS DISTINCT FROM NEW.video_id THEN
    PERFORM process.refuse(NEW.id, 'its payload names another video');
  END IF;
  NEW.unique_key := process.unique_key(NEW.job_type, NEW.video_id, NEW.payload);
  -- Outputs lie under the attempt's number, so a later job of the same kind counts on.
  NEW.attempt := coalesce((
    SELECT max(earlier.attempt) FROM process.video_jobs AS v CROSS JOIN LATERAL (
      SELECT j.attempt FROM process.jobs AS j
       WHERE j.tenant_id = v.tenant_id AND j.id = v.job_id AND j.job_type = NEW.job_type OFFSET 0) AS earlier
     WHERE v.tenant_id = NEW.tenant_id AND v.video_id = NEW.video_id), 0);
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION process.refuse_change() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'done' THEN
    PERFORM process.refuse(OLD.id, 'it is done and stays as it is');
  ELSIF NEW.status = OLD.status AND NEW.retry_count <> OLD.retry_count THEN
    PERFORM process.refuse(OLD.id, 'only going back to the queue counts as a retry');
  ELSIF (NEW.tenant_id, NEW.id, NEW.video_id, NEW.job_type, NEW.unique_key, NEW.created_at, NEW.depends_on)
     IS DISTINCT FROM
     (OLD.tenant_id, OLD.id, OLD.video_id, OLD.job_type, OLD.unique_key, OLD.created_at, OLD.depends_on)
     OR process.original_payload(NEW.payload) <> process.original_payload(OLD.payload) THEN
    PERFORM process.refuse(OLD.id, 'what it is cannot change');
  ELSIF NEW.payload <> OLD.payload AND NEW.payload ? 'original_payload'
        AND NOT (process.is_failed_payload(NEW.payload) AND pg_column_size(NEW.payload) <= 2097152) THEN
    PERFORM process.refuse(OLD.id, 'what stands beside its payload is not an error as process.fail writes it');
  END IF;
  RETURN NEW;
END
$$;

-- Infinity, and years that no client has a date for. What is there already is drawn to the nearest time that can be read, which
-- changes nothing about whether it is due.
ALTER TABLE process.jobs DISABLE TRIGGER USER; -- they let nobody touch a job that is done
SET LOCAL ROLE touchline_definer; -- who alone sees those of all tenants
UPDATE process.jobs
   SET run_at = least(greatest(run_at, '1970-01-01T00:00:00Z'), '9999-12-31T00:00:00Z'),
       locked_until = least(greatest(locked_until, '1970-01-01T00:00:00Z'), '9999-12-31T00:00:00Z'),
       created_at = least(greatest(created_at, '1970-01-01T00:00:00Z'), '9999-12-31T00:00:00Z'),
       started_at = least(greatest(started_at, '1970-01-01T00:00:00Z'), '9999-12-31T00:00:00Z'),
       finished_at = least(greatest(finished_at, '1970-01-01T00:00:00Z'), '9999-12-31T00:00:00Z')
 WHERE NOT (run_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
            AND coalesce(locked_until, now()) BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
            AND created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
            AND coalesce(started_at, now()) BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
            AND coalesce(finished_at, now()) BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z');
RESET ROLE;
ALTER TABLE process.jobs ENABLE TRIGGER USER;
ALTER TABLE process.jobs ADD CONSTRAINT jobs_times_are_dates CHECK (
  run_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND locked_until BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND started_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND finished_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z');
-- The product writes none of these; what strangers left, if anything, is theirs to mend.
ALTER TABLE process.videos ADD CONSTRAINT videos_times_are_dates CHECK (
  created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND updated_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND deleted_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z'
  AND original_missing_since BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z') NOT VALID;
ALTER TABLE process.clips ADD CONSTRAINT clips_times_are_dates CHECK (
  created_at BETWEEN '1970-01-01T00:00:00Z' AND '9999-12-31T00:00:00Z') NOT VALID;
