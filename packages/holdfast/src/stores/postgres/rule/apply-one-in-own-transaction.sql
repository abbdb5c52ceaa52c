-- Applies one request in a transaction of its own; apply-batch-in-own-transaction.sql says why.
--
-- Input   a_verb to a_channel  as in apply-one.sql; all null for nothing
--         a_leaves  the channel for leave-read-only.sql
-- Output  answers  as in apply-one.sql
create or replace procedure holdfast.apply_one_in_own_transaction_v1(
  a_verb text, a_lock text, a_id text, a_owner text, a_kind text, a_capacity integer,
  a_weight integer, a_tokens integer, a_ttl_ms double precision, a_enqueue boolean,
  a_heartbeat_ms double precision, a_channel text, a_leaves text, inout answers text
)
language plpgsql as $apply_one_in_own_transaction$
begin
  commit;
  perform holdfast.leave_read_only_v1(a_leaves);
  if a_verb is not null then
    answers := holdfast.apply_one_v1(
      a_verb, a_lock, a_id, a_owner, a_kind, a_capacity, a_weight, a_tokens, a_ttl_ms, a_enqueue,
      a_heartbeat_ms, a_channel
    );
  end if;
end
$apply_one_in_own_transaction$;
