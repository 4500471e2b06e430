-- What is read in a video: the sampled frames, the text detected in them, and the segments and entities made of it.

-- The sampling that won. Boxes of detections are in pixels of its frames.
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
SELECT platform.enable_row_level_security('process.samplings');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.samplings TO touchline_app, touchline_worker;
GRANT SELECT ON process.samplings TO touchline_readonly;
GRANT SELECT, DELETE ON process.samplings TO touchline_system;

-- The frames that are worth reading. They are stored under the prefix of the attempt that made them; this table is how
-- the seed's `frames/{video_id}/{timestamp_ms}.jpg` is found, and the only list of them.
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
SELECT platform.enable_row_level_security('process.frames');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.frames TO touchline_app, touchline_worker;
GRANT SELECT ON process.frames TO touchline_readonly;
GRANT SELECT, DELETE ON process.frames TO touchline_system;

-- How far the text recognition of a video has come, chunk by chunk.
CREATE TABLE process.readings (
  tenant_id     uuid NOT NULL,
  video_id      uuid NOT NULL,
  request       text NOT NULL,    -- which pictures are read, by whom and how: another request begins anew
  sampling      integer NOT NULL, -- the attempt whose pictures are read
  paths         text[],           -- those that are read; null: all
  read_until_ms bigint NOT NULL DEFAULT -1, -- the last picture whose chunk is here
  is_complete   boolean NOT NULL DEFAULT false,
  revision      bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (tenant_id, video_id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id)
);
SELECT platform.enable_row_level_security('process.readings');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.readings TO touchline_app, touchline_worker;
GRANT SELECT ON process.readings TO touchline_readonly;
GRANT SELECT, DELETE ON process.readings TO touchline_system;

-- One line of text in one place. Text that stays unchanged over many frames of a chunk is one row.
CREATE TABLE process.detections (
  tenant_id    uuid NOT NULL,
  video_id     uuid NOT NULL,
  chunk_ms     bigint NOT NULL,  -- the first picture of its chunk
  number       integer NOT NULL, -- in the chunk
  timestamp_ms bigint NOT NULL,  -- the first picture that shows it
  until_ms     bigint NOT NULL,  -- the last one, without a picture between them that does not
  text         text NOT NULL,
  confidence   real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  language     text,
  x            integer NOT NULL,
  y            integer NOT NULL,
  width        integer NOT NULL,
  height       integer NOT NULL,
  PRIMARY KEY (tenant_id, video_id, chunk_ms, number),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.readings (tenant_id, video_id) ON DELETE CASCADE,
  CHECK (until_ms >= timestamp_ms)
);
SELECT platform.enable_row_level_security('process.detections');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.detections TO touchline_app, touchline_worker;
GRANT SELECT ON process.detections TO touchline_readonly;
GRANT SELECT, DELETE ON process.detections TO touchline_system;

-- Text over time. A video has the segments of its last index, all of them or none.
CREATE TABLE process.segments (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL, -- computed: the same reading gives the same ids
  video_id        uuid NOT NULL,
  owner_id        uuid,
  team_id         uuid NOT NULL GENERATED ALWAYS AS (tenant_id) STORED,
  text            text NOT NULL,
  normalized_text text NOT NULL,
  text_hash       text NOT NULL,
  t_start         bigint NOT NULL, -- milliseconds: the first picture that shows it
  t_end           bigint NOT NULL, -- the first one that does not
  confidence      real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  bounding_box    jsonb NOT NULL,  -- {x, y, width, height} in pixels of the sampled pictures
  language        text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, video_id) REFERENCES process.videos (tenant_id, video_id),
  CHECK (t_end >= t_start)
);
CREATE INDEX segments_video ON process.segments (tenant_id, video_id, t_start, id);
SELECT platform.enable_row_level_security('process.segments');
CREATE POLICY definer_door ON process.segments FOR SELECT TO touchline_definer USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.segments TO touchline_app, touchline_worker;
GRANT SELECT ON process.segments TO touchline_readonly, touchline_definer;
GRANT SELECT, DELETE ON process.segments TO touchline_system;

-- What a segment mentions. Types and kinds are text, not enums: comparing enums is not leakproof and would lose its
-- index under row-level security.
CREATE TABLE process.entities (
  tenant_id        uuid NOT NULL,
  id               uuid NOT NULL,
  segment_id       uuid NOT NULL,
  video_id         uuid NOT NULL,
  entity_type      text NOT NULL CHECK (entity_type IN ('mention', 'hashtag', 'url', 'emoji', 'number')),
  value            text NOT NULL, -- as it stands in the text
  normalized_value text NOT NULL,
  number_kind      text CHECK (number_kind IN ('plain', 'currency', 'unit', 'score', 'clock')),
  position         integer NOT NULL, -- in the text of the segment, by characters
  t_start          bigint NOT NULL,  -- as the segment's
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, segment_id) REFERENCES process.segments (tenant_id, id) ON DELETE CASCADE,
  CHECK ((number_kind IS NOT NULL) = (entity_type = 'number'))
);
CREATE INDEX entities_video ON process.entities (tenant_id, video_id, t_start, id);
CREATE INDEX entities_segment ON process.entities (tenant_id, segment_id);
CREATE INDEX entities_value ON process.entities (tenant_id, entity_type, normalized_value);
SELECT platform.enable_row_level_security('process.entities');
CREATE POLICY definer_door ON process.entities FOR SELECT TO touchline_definer USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.entities TO touchline_app, touchline_worker;
GRANT SELECT ON process.entities TO touchline_readonly, touchline_definer;
GRANT SELECT, DELETE ON process.entities TO touchline_system;
