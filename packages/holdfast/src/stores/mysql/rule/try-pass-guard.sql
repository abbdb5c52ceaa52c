-- Returns whether a lock that a transaction covered may be granted again. It may not while that
-- transaction has the guard, since the transaction may still commit. This holds whether the lease
-- has expired, was stolen, or was released by a client that took it for lost. If the guard is free
-- it moves past the token of the lease, so a late transaction of that lease finds no guard.
--
-- The procedure never waits for a guard, since all other sessions that want this lock would wait
-- behind it.
--
-- Input   a_name  the lock, whose row is locked
-- Output  a_free  whether the lock may be granted
create procedure if not exists holdfast_try_pass_guard_v1(
  in a_name varbinary(512), out a_free boolean
)
modifies sql data sql security invoker
begin
  declare v_guard varbinary(512);
  declare continue handler for not found begin end;
  select name into v_guard from holdfast_guards where name = a_name for update skip locked;
  set a_free =
    v_guard is not null or not exists (select 1 from holdfast_guards where name = a_name);
  if v_guard is not null then
    update holdfast_guards
       set token = (select last_token + 1 from holdfast_locks where name = a_name)
     where name = a_name;
  end if;
  if a_free then update holdfast_locks set guarded = false where name = a_name; end if;
end//
