-- Search: the text of videos, by its words. Triggers keep the index in the transaction that changes segments, and
-- functions that filter by the tenant themselves read it, because the operators it needs are not leakproof and would
-- lose their indexes under row-level security.
--
-- `process.search_words` is the vocabulary of one tenant: each word as it is compared (without accents, with one letter
-- for those that look alike), with a number. `process.search_entries` holds one row for a segment: the numbers of its
-- words in their order, after them those of its marks (language, entities), and its rank in each order. Entries are
-- indexed by word and weight together, so that the top of a long list is read alone.
--
-- A video is also found by what the library knows of it: its title, and the match, teams and player of a goal that it
-- shows. These texts have entries beside those of segments, with a mark (`:where:title`) that says where they come
-- from. They arrive by events, which may come before the video itself: a text waits until its video exists.

CREATE TABLE process.search_words (
  tenant_id uuid NOT NULL,
  word      text COLLATE "C" NOT NULL, -- '' counts the segments, ':...' are marks
  word_id   integer NOT NULL GENERATED ALWAYS AS IDENTITY,
  segments  integer NOT NULL,          -- that have it
  shown     text NOT NULL,             -- as people write it
  typos     integer[],                 -- digests of the word and of what is left when one letter is missing
  bands     integer[],                 -- of '': how many segments there are of each band of weights, lowest first
  PRIMARY KEY (tenant_id, word)
);
-- Counts change with every video: leave room for new row versions.
ALTER TABLE process.search_words SET (fillfactor = 80);
CREATE UNIQUE INDEX search_words_id ON process.search_words (word_id);
CREATE INDEX search_words_typos ON process.search_words USING gin (typos) WITH (fastupdate = off);
SELECT platform.enable_row_level_security('process.search_words');
CREATE POLICY definer_door ON process.search_words TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.search_words TO touchline_definer;
GRANT SELECT ON process.search_words TO touchline_system;

-- Each order is one number, highest first: 7 bits of weight (or 10 of confidence), 33 of the video's second, and the
-- moment in the video, earliest first. Equal ones are in the order of their ids.
CREATE TABLE process.search_entries (
  tenant_id  uuid NOT NULL,
  video_id   uuid NOT NULL,
  segment_id uuid NOT NULL,
  relevance  bigint NOT NULL,
  recency    bigint NOT NULL,
  confidence bigint NOT NULL,
  words      integer[] NOT NULL
);
-- No primary and no foreign key, which would be its largest index: the triggers alone write, one tenant at a time, and
-- add no segment that is there.
CREATE INDEX search_entries_video ON process.search_entries (tenant_id, video_id);
-- Without the ids: few are equal, and those are sorted when they are met.
CREATE INDEX search_entries_relevance ON process.search_entries (tenant_id, relevance);
CREATE INDEX search_entries_recency ON process.search_entries (tenant_id, recency);
CREATE INDEX search_entries_confidence ON process.search_entries (tenant_id, confidence);

-- A band is four of the 128 weights: the first five bits of the relevance.
CREATE FUNCTION process.search_band(relevance bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (relevance >> 57)::integer;

-- What an entry is indexed by: each of its words, in its band.
CREATE FUNCTION process.search_keys(words integer[], relevance bigint) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY(SELECT (w.id::bigint << 5) + process.search_band(relevance) FROM unnest(words) AS w (id));

-- Without a list of pending changes, which every search would have to read through.
CREATE INDEX search_entries_words ON process.search_entries USING gin (process.search_keys(words, relevance))
  WITH (fastupdate = off);
SELECT platform.enable_row_level_security('process.search_entries');
CREATE POLICY definer_door ON process.search_entries TO touchline_definer USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.search_entries TO touchline_definer;
GRANT SELECT ON process.search_entries TO touchline_app, touchline_worker, touchline_readonly, touchline_system;

-- What was reported of a video, by the highest revision of each source. Texts and labels are made of it, see
-- process/labels.
CREATE TABLE process.video_subjects (
  tenant_id      uuid NOT NULL,
  video_id       uuid NOT NULL,
  title          text,
  title_revision bigint NOT NULL DEFAULT 0,
  goal           jsonb,   -- what it shows: match, teams, player
  goal_revision  bigint NOT NULL DEFAULT 0,
  is_dropped     boolean NOT NULL DEFAULT false, -- it shows no goal any more, whatever comes
  PRIMARY KEY (tenant_id, video_id)
);
SELECT platform.enable_row_level_security('process.video_subjects');
GRANT SELECT, INSERT, UPDATE ON process.video_subjects TO touchline_app, touchline_worker;
GRANT SELECT, DELETE ON process.video_subjects TO touchline_system;
GRANT SELECT ON process.video_subjects TO touchline_readonly;

CREATE TABLE process.video_texts (
  tenant_id       uuid NOT NULL,
  id              uuid NOT NULL, -- computed of the video and the place
  video_id        uuid NOT NULL,
  place           text NOT NULL CHECK (place IN ('title', 'match')),
  text            text NOT NULL,
  normalized_text text NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, video_id, place)
);
SELECT platform.enable_row_level_security('process.video_texts');
CREATE POLICY definer_door ON process.video_texts FOR SELECT TO touchline_definer USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON process.video_texts TO touchline_app, touchline_worker;
GRANT SELECT, DELETE ON process.video_texts TO touchline_system;
GRANT SELECT ON process.video_texts TO touchline_readonly, touchline_definer;

-- What a video belongs to, for the filters of search: match, team, player. A label is found by any of its words:
-- `player:saka` finds B. Saka. No foreign key: labels, too, may arrive before their video.
CREATE TABLE process.video_labels (
  tenant_id uuid NOT NULL,
  video_id  uuid NOT NULL,
  kind      text NOT NULL,
  value     text NOT NULL, -- without case or accents, as `process.search_fold` has it
  word      text NOT NULL,
  PRIMARY KEY (tenant_id, video_id, kind, value, word)
);
CREATE INDEX video_labels_word ON process.video_labels (tenant_id, kind, word, value, video_id);
SELECT platform.enable_row_level_security('process.video_labels');
CREATE POLICY definer_door ON process.video_labels FOR SELECT TO touchline_definer USING (true);
GRANT SELECT, INSERT, DELETE ON process.video_labels TO touchline_app, touchline_worker;
GRANT SELECT, DELETE ON process.video_labels TO touchline_system;
GRANT SELECT ON process.video_labels TO touchline_readonly, touchline_definer;
