-- A job whose transaction was open when videos began to list theirs stands in no list: its attempts would begin anew, and
-- a purge would leave it behind. 0026 ended after all of these, so that every job that is missing can be seen now.

SET LOCAL ROLE touchline_definer; -- who alone sees those of all tenants
INSERT INTO process.video_jobs (tenant_id, video_id, job_id)
SELECT j.tenant_id, j.video_id, j.id FROM process.jobs AS j ON CONFLICT DO NOTHING;
RESET ROLE;
