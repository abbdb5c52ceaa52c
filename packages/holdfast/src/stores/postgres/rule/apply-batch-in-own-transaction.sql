-- Applies a batch in a transaction of its own. Inside of a transaction COMMIT fails with `2D000`,
-- and nothing was done. Clients call this where they cannot see whether a program left a connection
-- of the pool inside its transaction. The program could undo a grant there.
--
-- Input   a_requests  as in apply-batch.sql, as text; null for nothing
--         a_channel  as in leave-read-only.sql
-- Output  answers  as in apply-batch.sql, as text
create or replace procedure holdfast.apply_batch_in_own_transaction_v1(
  a_requests text, a_channel text, inout answers text
)
language plpgsql as $apply_batch_in_own_transaction$
begin
  commit;
  perform holdfast.leave_read_only_v1(a_channel);
  if a_requests is not null then
    answers := holdfast.apply_batch_v1(a_requests::pg_catalog.jsonb)::pg_catalog.text;
  end if;
end
$apply_batch_in_own_transaction$;
