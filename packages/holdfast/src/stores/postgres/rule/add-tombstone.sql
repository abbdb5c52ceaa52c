-- Refuses a claim from now on, so that a late message of it does not bring the claim back.
--
-- Input   a_lock, a_id  the claim
--         a_ttl_ms  for how long it is refused
--         a_outcome  what a repeated withdrawal answers
--         a_now  the time of the batch
-- Output  none
create or replace function holdfast.add_tombstone_v1(
  a_lock text, a_id text, a_ttl_ms double precision, a_outcome text, a_now timestamptz
) returns void
language plpgsql as $add_tombstone$
begin
  insert into holdfast.tombstones as t (lock, id, until, outcome)
  values (a_lock, a_id, a_now + a_ttl_ms * interval '1 millisecond', a_outcome)
  on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome;
end
$add_tombstone$;
