-- Which run of which job an artifact's processing stands at: what an older run says late changes nothing, and only a newer one
-- brings back what has failed. Job ids rise with time, so runs have an order across jobs. Zero: no job has reported yet.
ALTER TABLE serve.artifacts ADD COLUMN job_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';

-- A clip that failed no longer keeps others from making the same one. When a retry brings it back and the same one was made
-- meanwhile, both live, and the other keeps the range.
ALTER TABLE serve.clips RENAME COLUMN failed TO range_released;
