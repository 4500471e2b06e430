-- Its artifact was undeleted: what was read in it is found again, from the segments as they are by now. What the index
-- has already stays, so doing it twice, or after the index was made anew, is doing it once.
CREATE FUNCTION process.remember_video(video uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  tenant uuid := platform.current_tenant();
BEGIN
  UPDATE process.videos AS v SET deleted_at = NULL, updated_at = now(), revision = v.revision + 1
   WHERE v.tenant_id = tenant AND v.video_id = video AND v.deleted_at IS NOT NULL;
  IF FOUND THEN
    PERFORM process.search_add(
      tenant, ARRAY(SELECT s.id FROM process.segments AS s WHERE s.tenant_id = tenant AND s.video_id = video));
  END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION process.remember_video(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION process.remember_video(uuid) TO touchline_app, touchline_worker, touchline_system;
GRANT CREATE ON SCHEMA process TO touchline_definer; -- only while it takes the function over
ALTER FUNCTION process.remember_video(uuid) OWNER TO touchline_definer;
REVOKE CREATE ON SCHEMA process FROM touchline_definer;
