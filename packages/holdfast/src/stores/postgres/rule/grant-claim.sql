-- Grants a claim and returns its first token. The transaction must be durable before the answer.
-- Tokens are at least the server time in microseconds, so they keep growing after a restore from a
-- backup. apply-fast.sql, apply-single.sql and adopt.sql make their tokens by the same expression.
--
-- Checks that the holders of the lock fit its capacity, and that none stands in its row. More of
-- them would be a broken rule, and the batch is rolled back.
--
-- Input   a_lock, a_id, a_owner, a_weight, a_tokens, a_ttl_ms  the claim
--         a_free  how much weight the lock has free
--         a_now  the time of the batch
-- Output  the first token of the grant
create or replace function holdfast.grant_claim_v1(
  a_lock text, a_id text, a_owner text, a_weight integer, a_tokens integer,
  a_ttl_ms double precision, a_free bigint, a_now timestamptz
) returns bigint
language plpgsql as $grant_claim$
declare
  v_last bigint;
begin
  if a_weight not between 1 and a_free or a_tokens < 1 then
    raise exception 'lock "%" cannot grant weight % and % tokens with % free',
      a_lock, a_weight, a_tokens, a_free using errcode = 'HF003';
  end if;
  update holdfast.locks l
     set last_token =
           greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock and l.sole_id is null
  returning l.last_token into v_last;
  if not found then
    raise exception 'lock "%" has a sole holder beside listed ones', a_lock using errcode = 'HF003';
  end if;
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  values (a_lock, a_id, a_owner, a_weight, v_last - a_tokens + 1, a_tokens, a_now, a_ttl_ms,
          a_now + a_ttl_ms * interval '1 millisecond');
  perform set_config('holdfast_batch.granted', 'yes', true);
  return v_last - a_tokens + 1;
end
$grant_claim$;
