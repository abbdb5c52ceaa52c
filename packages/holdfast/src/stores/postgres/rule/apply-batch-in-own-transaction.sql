-- Applies a batch in a transaction of its own. Inside of a transaction COMMIT fails with `2D000`,
-- and nothing was done. Clients call this where they cannot see whether a program left a connection
-- of the pool inside its transaction. The program could undo a grant there.
--
-- A client that has written before, or was refused since the server takes no writes, passes its
-- channel. If the server takes no writes, another one may have replaced it. A client of `postgres`
-- cannot end a connection, so the procedure ends it, and the one that listens on the channel.
--
-- Input   a_requests  as in apply-batch.sql, as text
--         a_channel  the channel of the client, or null
-- Output  answers  as in apply-batch.sql, as text
create or replace procedure holdfast.apply_batch_in_own_transaction_v1(
  a_requests text, a_channel text, inout answers text
)
language plpgsql as $apply_batch_in_own_transaction$
begin
  commit;
  if a_channel is not null
     and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on' then
    perform pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
     where a.query operator(pg_catalog.=) pg_catalog.format('listen "%s"', a_channel);
    perform pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid());
  end if;
  answers := holdfast.apply_batch_v1(a_requests::pg_catalog.jsonb)::pg_catalog.text;
end
$apply_batch_in_own_transaction$;
