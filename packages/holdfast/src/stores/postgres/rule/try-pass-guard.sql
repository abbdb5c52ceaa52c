-- Returns whether a lock that a transaction covered may be granted again. It may not while that
-- transaction has the guard, since the transaction may still commit. This holds whether the lease
-- has expired, was stolen, or was released by a client that took it for lost. If the guard is free
-- it moves past the token of the lease, so a late transaction of that lease finds no guard.
--
-- The function never waits for a guard, since all other sessions that want this lock would wait
-- behind it.
--
-- Input   a_lock  the lock, whose row is locked
-- Output  whether the lock may be granted
create or replace function holdfast.try_pass_guard_v1(a_lock text) returns boolean
language plpgsql as $try_pass_guard$
begin
  perform from holdfast.guards g where g.name = a_lock for update skip locked;
  if found then
    update holdfast.guards g set token = l.last_token + 1 from holdfast.locks l
     where g.name = a_lock and l.name = a_lock;
  elsif exists (select from holdfast.guards g where g.name = a_lock) then
    -- A writer that became a reader beside other readers holds the lock, and may still commit.
    if not exists (select from holdfast.holders h where h.lock = a_lock) then
      perform holdfast.end_idle_transaction_v1(a_lock);
    end if;
    return false;
  end if;
  update holdfast.locks l set guarded = false where l.name = a_lock;
  return true;
end
$try_pass_guard$;
