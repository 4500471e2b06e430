-- Videos as the pipeline sees them: where the original lies, what was made of it, and how far it has come.

GRANT USAGE ON SCHEMA process TO touchline_app, touchline_worker, touchline_readonly, touchline_system, touchline_definer;

-- `playable`: transcoded. `ready`: searchable too. `failed`: a stage failed for good; what was made before stays.
-- The status is text, not an enum: comparing enums is not leakproof and would lose its index behind the wall.
CREATE TABLE process.videos (
  tenant_id        uuid NOT NULL,
  video_id         uuid NOT NULL,
  owner_id         uuid,
  status           text NOT NULL DEFAULT 'uploaded' CHECK (status IN ('uploaded', 'playable', 'ready', 'failed')),
  s3_original_path text NOT NULL,
  s3_proxy_path    text, -- the playlist of the attempt that won; the fixed key beside it only points there
  s3_thumb_path    text,
  size_bytes       bigint NOT NULL,
  content_type     text NOT NULL,
  duration_ms      bigint,
  width            integer,
  height           integer,
  pointers_written boolean NOT NULL DEFAULT true, -- false: the fixed keys do not show these paths yet
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  revision         bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, video_id),
  CHECK (num_nonnulls(s3_proxy_path, s3_thumb_path, duration_ms, width, height) IN (0, 5))
);
-- Object keys carry the video's id and no tenant, so nobody may use an id that another tenant has.
CREATE UNIQUE INDEX videos_id ON process.videos (video_id);
CREATE INDEX videos_pointers ON process.videos (updated_at) WHERE NOT pointers_written;
SELECT platform.raise_wall('process.videos');
GRANT SELECT, INSERT, UPDATE ON process.videos TO touchline_app, touchline_worker;
GRANT SELECT ON process.videos TO touchline_readonly, touchline_system;
