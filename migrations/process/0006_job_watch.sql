-- What the queue was like, minute by minute, and what is wrong with it now.

-- Jobs end about in the order in which they came: an index of ranges is enough, and ending a job does not pay for it.
CREATE INDEX jobs_finished ON process.jobs USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on);

-- Depth and age by tenant and type, while there is anything to see; kept for a day.
CREATE TABLE process.job_samples (
  tenant_id  uuid NOT NULL,
  job_type   text NOT NULL,
  sampled_at timestamptz NOT NULL,
  queued     integer NOT NULL,
  processing integer NOT NULL,
  oldest_s   double precision NOT NULL, -- how long the one that is due for longest has waited
  PRIMARY KEY (tenant_id, job_type, sampled_at)
);
SELECT platform.raise_wall('process.job_samples');
GRANT SELECT ON process.job_samples TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, DELETE ON process.job_samples TO touchline_system;
CREATE INDEX job_samples_age ON process.job_samples (sampled_at);

-- One row for what is beyond its threshold, until it is not. `told`: whether the webhook has heard of the last change.
CREATE TABLE process.job_alerts (
  tenant_id  uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('failure_rate', 'queue_age', 'dead_letters')),
  job_type   text NOT NULL,
  raised     boolean NOT NULL,
  value      double precision NOT NULL,
  threshold  double precision NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  revision   bigint NOT NULL DEFAULT 1,
  told       boolean NOT NULL DEFAULT false,
  tries      integer NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, kind, job_type)
);
SELECT platform.raise_wall('process.job_alerts');
GRANT SELECT ON process.job_alerts TO touchline_app, touchline_worker, touchline_readonly;
GRANT SELECT, INSERT, UPDATE ON process.job_alerts TO touchline_system;
