-- Describes a grant to the claim that holds it already.
--
-- Input   a_lock, a_id  the claim, which holds the lock
--         a_now  the time of the batch
-- Output  the answer of an attempt that was granted before
create or replace function holdfast.describe_grant_v1(a_lock text, a_id text, a_now timestamptz)
returns jsonb
language plpgsql as $describe_grant$
begin
  return (
    select jsonb_build_object(
      'outcome', 'granted', 'existing', true, 'token', h.token::text, 'tokens', h.tokens,
      'ttlMs', h.ttl_ms, 'remainingMs', extract(epoch from h.expires - a_now) * 1000
    )
    from holdfast.holders h where h.lock = a_lock and h.id = a_id
  );
end
$describe_grant$;
