-- Returns the names of locks with holders or waiters.
--
-- Input   a_prefix  how the names begin
--         a_after  the name behind which the list begins
--         a_limit  how many names
-- Output  rows  name, as hexadecimal digits
create procedure if not exists holdfast_list_locks_v1(
  in a_prefix varbinary(512), in a_after varbinary(512), in a_limit int
)
reads sql data sql security invoker
begin
  -- For a session in the mode EMPTY_STRING_IS_NULL no text is null.
  declare v_prefix varbinary(512) default coalesce(a_prefix, '');
  declare v_after varbinary(512) default coalesce(a_after, '');
  declare exit handler for 1568 resignal;
  declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
  -- In a transaction the list would come from its snapshot.
  set transaction isolation level read committed;
  -- Each part reads a range of an index, and no more rows than the page needs.
  select hex(name) as name from (
    (select name from holdfast_locks
      where sole_expires_us > 0 and name >= v_prefix and name > v_after
        and left(name, length(v_prefix)) = v_prefix
      order by name limit a_limit)
    union
    (select distinct name from holdfast_holders
      where name >= v_prefix and name > v_after and left(name, length(v_prefix)) = v_prefix
      order by name limit a_limit)
    union
    (select distinct name from holdfast_waiters
      where name >= v_prefix and name > v_after and left(name, length(v_prefix)) = v_prefix
      order by name limit a_limit)
  ) used
   order by used.name limit a_limit;
  -- Without autocommit the list has begun a transaction.
  commit and no chain no release;
end//
