-- Refuses to migrate a schema of a newer format. Runs before anything is changed.
--
-- The format of the schema. Tables and functions are only added to, so most changes keep it. A
-- change that processes of this version must not meet gets a new number. The migration to it does
-- two things:
--
-- - It writes the number to `facts`, so that the migration of this version refuses.
-- - It replaces `apply_batch_v1`, `apply_one_v1` and `list_locks_v1` by functions with another
--   return type that raise `HF002`, and drops `apply_retake_v1`, which clients can do without. A
--   process of this version then reports `STORE_FORMAT` at its next call, and earlier calls pay
--   nothing. An older version reports a failure and cannot replace those functions: PostgreSQL
--   refuses to change a return type.
--
-- Input   the format of the schema in `facts`, if there is one
-- Output  none; an error with `HF002` for a format above 1
do $format$
declare
  v_format integer;
begin
  if to_regclass(quote_ident('holdfast') || '.facts') is null then return; end if;
  select f.value::integer into v_format from holdfast.facts f where f.name = 'format';
  if v_format > 1 then
    raise exception 'the schema has format %, and this version of Holdfast knows format 1',
      v_format using errcode = 'HF002';
  end if;
end $format$;
