-- What the renditions of a video were made of: later stages refuse an original that somebody has replaced since. Null: made
-- before this was kept.
ALTER TABLE process.videos ADD COLUMN original_digest text;
