-- What was read in the pictures of a video, chunk by chunk, and how far the reading has come.

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
SELECT platform.raise_wall('process.readings');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.readings TO touchline_app, touchline_worker;
GRANT SELECT ON process.readings TO touchline_readonly, touchline_system;

-- One line of text in one place. What stands there unchanged over many pictures of a chunk is one row.
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
SELECT platform.raise_wall('process.detections');
GRANT SELECT, INSERT, UPDATE, DELETE ON process.detections TO touchline_app, touchline_worker;
GRANT SELECT ON process.detections TO touchline_readonly, touchline_system;
