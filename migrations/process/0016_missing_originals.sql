-- Since when the object store does not have the original of a video; null: nobody missed it.
ALTER TABLE process.videos ADD COLUMN original_missing_since timestamptz;
