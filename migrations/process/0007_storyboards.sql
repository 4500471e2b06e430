-- Small pictures for the seek bar: WebVTT beside the playlist of the attempt that won. Null while they are not made.
ALTER TABLE process.videos ADD COLUMN s3_storyboard_path text;
