-- Ends the sessions of a client on a server that takes no writes: another one may have replaced it.
-- A client of `postgres` cannot end a connection. So this ends it, and the one that listens on the
-- channel. The client passes its channel once it has written, or was refused for that reason.
--
-- Input   a_channel  the channel of the client, or null: then nothing happens
-- Output  none
create or replace function holdfast.leave_read_only_v1(a_channel text) returns void
language plpgsql as $leave_read_only$
begin
  if a_channel is not null
     and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on' then
    perform pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
     where a.query operator(pg_catalog.=) pg_catalog.format('listen "%s"', a_channel);
    perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid());
  end if;
end
$leave_read_only$;
