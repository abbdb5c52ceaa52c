-- Begins a migration. Creates the schema only if it is missing, since the user may lack the right
-- to create schemas.
--
-- Input   none
-- Output  the schema
-- "if not exists" sends a notice for what exists, which some client libraries print.
select set_config('client_min_messages', 'warning', true);
-- Two clients may migrate at the same moment, and "if not exists" alone does not order them.
select pg_advisory_xact_lock(5264201764520137);
do $prepare$ begin
  if not exists (select from pg_namespace where nspname = 'holdfast') then
    create schema holdfast;
  end if;
end $prepare$;
