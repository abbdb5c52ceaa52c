-- Returns the names of locks with holders or waiters, in order.
--
-- A holder in the row of its lock is found by a look at the rows of all locks. An index of them
-- would change with each grant and release.
--
-- Input   a_prefix  how the names begin
--         a_after  the name behind which the list begins
--         a_limit  how many names
-- Output  a row for each name
create or replace function holdfast.list_locks_v1(a_prefix text, a_after text, a_limit integer)
returns table (name text)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $list_locks$
#variable_conflict use_column
begin
  -- Each part reads a range of an index, and no more rows than the page needs.
  return query
  select u.name from (
    (select l.name from holdfast.locks l
      where l.sole_id is not null and l.name >= a_prefix and l.name > a_after
        and starts_with(l.name, a_prefix)
      order by l.name limit a_limit)
    union
    (select distinct h.lock from holdfast.holders h
      where h.lock >= a_prefix and h.lock > a_after and starts_with(h.lock, a_prefix)
      order by h.lock limit a_limit)
    union
    (select distinct w.lock from holdfast.waiters w
      where w.lock >= a_prefix and w.lock > a_after and starts_with(w.lock, a_prefix)
      order by w.lock limit a_limit)
  ) u (name)
   order by u.name limit a_limit;
end
$list_locks$;
