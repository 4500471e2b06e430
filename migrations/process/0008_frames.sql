-- The pictures of a video that are worth reading. They lie under the prefix of the attempt that made them; this table is
-- how the seed's `frames/{video_id}/{timestamp_ms}.jpg` is found, and the only list of them.

-- The sampling that won. Boxes of what was read are in pixels of its pictures.
CREATE TABLE process.samplings (
  tenant_id   uuid NOT NULL,
  video_id    uuid NOT NULL,
  attempt     integer NOT NULL, -- of the job that made it
  every_ms    integer NOT NULL,
  width       integer NOT NULL,
  height      integer NOT NULL,
  duration_ms bigint NOT NULL,
  frames      integer NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, video_id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id)
);
SELECT platform.raise_wall('process.samplings');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.samplings TO touchline_app, touchline_worker;
GRANT SELECT ON process.samplings TO touchline_readonly, touchline_system;

CREATE TABLE process.frames (
  tenant_id    uuid NOT NULL,
  video_id     uuid NOT NULL,
  timestamp_ms bigint NOT NULL,
  attempt      integer NOT NULL,
  s3_path      text NOT NULL GENERATED ALWAYS AS (
    'frames/' || video_id::text || '/' || attempt::text || '/' || timestamp_ms::text || '.jpg') STORED,
  PRIMARY KEY (tenant_id, video_id, timestamp_ms),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.samplings (tenant_id, video_id) ON DELETE CASCADE
);
SELECT platform.raise_wall('process.frames');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.frames TO touchline_app, touchline_worker;
GRANT SELECT ON process.frames TO touchline_readonly, touchline_system;
