-- Ends the transaction that has the guard of a lock, if its session has been idle for five seconds.
--
-- A process that was stopped inside its transaction would keep the guard as long as its machine
-- runs. When the lock has no holder, the lease has ended and its transaction cannot commit any
-- more. To end it takes the same database user, or the right to end sessions of other users.
--
-- Input   a_lock  the lock, which has no holder
-- Output  none
create or replace function holdfast.end_idle_transaction_v1(a_lock text) returns void
language plpgsql as $end_idle_transaction$
begin
  perform pg_terminate_backend(a.pid)
     from holdfast.guards g
     join pg_locks k on k.locktype = 'transactionid' and k.transactionid = g.xmax
      and k.mode = 'ExclusiveLock'
     join pg_locks r on r.pid = k.pid and r.locktype = 'relation' and r.relation = g.tableoid
      and r.mode = 'RowShareLock'
     join pg_stat_activity a on a.pid = k.pid and a.datname = current_database()
    where g.name = a_lock and k.granted and a.state like 'idle in transaction%'
      and a.state_change < clock_timestamp() - interval '5 s';
exception when insufficient_privilege then
  return;
end
$end_idle_transaction$;
