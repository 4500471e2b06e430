-- More of what nobody could read, or bear, is refused when it is written.

-- As the product's own jobs have them: rising with time, which says what is newer, in lists and where a retry counts.
CREATE FUNCTION process.new_job_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN encode(set_bit(set_bit(overlay(
  uuid_send(gen_random_uuid())
  PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
), 52, 1), 53, 1), 'hex')::uuid;
ALTER TABLE process.jobs ALTER COLUMN id SET DEFAULT process.new_job_id();

-- What a job waits for is there before it, so that no chain of jobs bites its own tail; and it is short, because its end is
-- written down in one go.
CREATE FUNCTION process.guard_parents() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  longest CONSTANT integer := 32;
  parent  uuid := NEW.depends_on;
BEGIN
  FOR step IN 1 .. longest LOOP
    SELECT j.depends_on INTO parent FROM process.jobs AS j WHERE j.tenant_id = NEW.tenant_id AND j.id = parent;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'job %: the job that it depends on is not there', NEW.id
        USING ERRCODE = 'foreign_key_violation', HINT = 'Enqueue that one first.';
    ELSIF parent IS NULL THEN
      RETURN NEW;
    END IF;
  END LOOP;
  PERFORM process.refuse(NEW.id, format('more than %s jobs would have to be done before it', longest));
END
$$;
CREATE TRIGGER guard_parents BEFORE INSERT ON process.jobs
  FOR EACH ROW WHEN (NEW.depends_on IS NOT NULL) EXECUTE FUNCTION process.guard_parents();

-- A result belongs to a job that is done. A claim tells the traces of all its jobs in one text, which has a limit.
ALTER TABLE process.jobs DISABLE TRIGGER USER;
SET LOCAL ROLE touchline_definer; -- who alone sees those of all tenants
UPDATE process.jobs SET result = NULL WHERE status <> 'done' AND result IS NOT NULL;
UPDATE process.jobs SET trace = left(trace, 100) WHERE octet_length(trace) > 1000;
RESET ROLE;
ALTER TABLE process.jobs ENABLE TRIGGER USER;
ALTER TABLE process.jobs
  ADD CONSTRAINT jobs_results_are_of_done CHECK (
    result IS NULL OR (status = 'done' AND pg_column_size(result) <= 1048576)) NOT VALID, -- what is done is not written again
  ADD CONSTRAINT jobs_traces_are_short CHECK (octet_length(trace) <= 1000);
