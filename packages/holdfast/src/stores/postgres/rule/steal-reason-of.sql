-- Returns why a claim is no more that a steal removed. The outcome in its tombstone is the word
-- `stolen`, and the reason behind it.
--
-- Input   a_lock, a_id  the claim
--         a_now  the time of the batch
-- Output  the reason as JSON, '' where there was none; null for any other claim
create or replace function holdfast.steal_reason_of_v1(a_lock text, a_id text, a_now timestamptz)
returns text
language plpgsql as $steal_reason_of$
begin
  return (
    select substr(t.outcome, 7) from holdfast.tombstones t
     where t.lock = a_lock and t.id = a_id and t.until > a_now and t.outcome like 'stolen%'
  );
end
$steal_reason_of$;
