-- The fast path for a batch of one request, on a lock without waiters. It serves an attempt on a
-- lock that is free and has no guard, and a release. Other requests it leaves to the functions of
-- the verbs, which give the same answers.
--
-- The caller has locked the row of the lock, and looked at its holders and waiters. One at a time
-- this path takes a fifth of the server's time off each pair; docs/internals/design.md has the
-- figures.
--
-- Input   a_request  an attempt on a lock without holders, or a withdrawal from one whose holders
--         have not expired
--         a_now  the time of the batch
-- Output  the answer, or null where nothing was done
create or replace function holdfast.apply_single_v1(a_request jsonb, a_now timestamptz)
returns jsonb
language plpgsql as $apply_single$
declare
  a_lock constant text := a_request ->> 'lock';
  a_id constant text := a_request ->> 'id';
  a_ttl_ms constant double precision := (a_request ->> 'ttlMs')::double precision;
  v_tokens integer;
  v_token bigint;
begin
  if a_request ->> 'verb' = 'withdraw' then
    delete from holdfast.holders h where h.lock = a_lock and h.id = a_id;
    if not found then return null; end if;
    insert into holdfast.tombstones as t (lock, id, until, outcome)
    values (a_lock, a_id, a_now + a_ttl_ms * interval '1 millisecond', 'released')
    on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome;
    return jsonb_build_object('outcome', 'released');
  end if;
  v_tokens := (a_request ->> 'tokens')::integer;
  update holdfast.locks l
     set kind = a_request ->> 'kind', capacity = (a_request ->> 'capacity')::integer,
         last_token =
           greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + v_tokens - 1
   where l.name = a_lock and not l.guarded
     and (a_request ->> 'weight')::integer <= (a_request ->> 'capacity')::integer
     and not exists (
       select from holdfast.tombstones t
        where t.lock = a_lock and t.id = a_id and t.until > a_now
     )
  returning l.last_token - v_tokens + 1 into v_token;
  if not found then return null; end if;
  insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
  values (a_lock, a_id, a_request ->> 'owner', (a_request ->> 'weight')::integer, v_token, v_tokens,
          a_now, a_ttl_ms, a_now + a_ttl_ms * interval '1 millisecond');
  return jsonb_build_object(
    'outcome', 'granted', 'existing', false, 'tokens', v_tokens, 'ttlMs', a_ttl_ms,
    'remainingMs', a_ttl_ms, 'token', v_token::text
  );
end
$apply_single$;
