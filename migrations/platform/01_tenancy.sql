-- Tenancy: the tenant of a transaction is read from the request's claims, and every table with a tenant has the same two
-- row-level security policies. The roles exist before this file runs: see platform/postgres/migrations.py.

GRANT USAGE ON SCHEMA platform
   TO touchline_app, touchline_worker, touchline_readonly, touchline_system, touchline_definer;

-- The tenant of this transaction, or null. A setting that was reset is empty, not null: hence nullif.
CREATE FUNCTION platform.current_tenant() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'tenant_id')::uuid;

-- Enables row-level security on one table and forces it on the table's owner too.
CREATE FUNCTION platform.enable_row_level_security(secured regclass) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', secured);
  EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', secured);
  EXECUTE format(
    'CREATE POLICY tenant_isolation ON %s TO touchline_app, touchline_worker, touchline_readonly
       USING (tenant_id = (SELECT platform.current_tenant()))
       WITH CHECK (tenant_id = (SELECT platform.current_tenant()))', secured);
  EXECUTE format('CREATE POLICY system_door ON %s TO touchline_system USING (true) WITH CHECK (true)', secured);
END
$$;
REVOKE EXECUTE ON FUNCTION platform.enable_row_level_security(regclass) FROM PUBLIC;

-- Tables with a tenant and without row-level security. Always empty: the migration runner refuses to finish otherwise.
CREATE VIEW platform.unsecured_tables WITH (security_invoker = true) AS
SELECT c.oid::regclass AS table_name
  FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
 WHERE c.relkind IN ('r', 'p')
   AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
   AND NOT (
     c.relrowsecurity AND c.relforcerowsecurity
     AND EXISTS (SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = 'tenant_isolation')
   );
