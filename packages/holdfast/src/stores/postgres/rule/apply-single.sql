-- Serves one request on a lock that is free or has one holder, who stands in the row of the lock.
-- It gives grants, the answer "busy", renewals and releases. The rest it leaves to the functions of
-- the verbs, which give the same answers.
--
-- One statement decides, and locks the row. That is safe here: its conditions concern this row
-- alone. If it waited for the row, it checks them again on the row as it is then. A tombstone it
-- could miss. So a grant looks for one in a statement of its own, which sees all that was committed
-- before the row was locked. If there is one, the grant is undone. To look in both statements would
-- cost the server a sixth more for each pair.
--
-- The time is read before the statement waits for the row. That is safe. This path never treats a
-- lease as expired. A new lease ends too soon rather than too late. A renewal only succeeds for the
-- holder in the row, and not if a later one overtook it: it would move the end back.
--
-- Input   a_verb to a_enqueue  a request, with null for what its verb does not have; no renewal
--         that keeps the end
-- Output  the answer, JSON as text, or null: then nothing was done
create or replace function holdfast.apply_single_v1(
  a_verb text, a_lock text, a_id text, a_owner text, a_kind text, a_capacity integer,
  a_weight integer, a_tokens integer, a_ttl_ms double precision, a_enqueue boolean
) returns text
language plpgsql as $apply_single$
declare
  v_now constant timestamptz := clock_timestamp();
  v_until constant timestamptz := v_now + a_ttl_ms * interval '1 millisecond';
  v_token bigint;
  v_left_ms double precision;
begin
  if a_verb = 'withdraw' then
    update holdfast.locks l set sole_id = null
     where l.name = a_lock and not l.listed and l.sole_id = a_id and l.sole_expires > v_now;
    if not found then return null; end if;
    perform holdfast.add_tombstone_v1(a_lock, a_id, a_ttl_ms, 'released', v_now);
    return '{"outcome":"released"}';
  elsif a_verb = 'renew' then
    update holdfast.locks l
       set sole_owner = a_owner, sole_ttl_ms = a_ttl_ms, sole_expires = v_until
     where l.name = a_lock and not l.listed and l.sole_id = a_id and l.sole_expires > v_now
       and l.sole_expires - l.sole_ttl_ms * interval '1 millisecond' <= v_now;
    return case when found then '{"outcome":"renewed"}' end;
  elsif a_verb is distinct from 'attempt' then
    return null;
  end if;
  update holdfast.locks l
     set kind = a_kind, capacity = a_capacity, sole_id = a_id, sole_owner = a_owner,
         sole_weight = a_weight, sole_tokens = a_tokens, sole_granted = v_now,
         sole_ttl_ms = a_ttl_ms, sole_expires = v_until, last_before = l.last_token,
         last_token =
           greatest(l.last_token + 1, (extract(epoch from v_now) * 1000000)::bigint) + a_tokens - 1
   where l.name = a_lock and l.sole_id is null and not l.listed and not l.guarded
     and a_weight between 1 and a_capacity and a_tokens > 0
  returning l.last_token - a_tokens + 1 into v_token;
  if found then
    if exists (
      select from holdfast.tombstones t
       where t.lock = a_lock and t.id = a_id and t.until > v_now
    ) then
      update holdfast.locks l set sole_id = null, last_token = l.last_before where l.name = a_lock;
      return null;
    end if;
    return '{"outcome":"granted","existing":false,"tokens":' || a_tokens || ',"ttlMs":' || a_ttl_ms
      || ',"remainingMs":' || a_ttl_ms || ',"token":"' || v_token || '"}';
  end if;
  if a_enqueue then return null; end if;
  select extract(epoch from l.sole_expires - v_now) * 1000 into v_left_ms from holdfast.locks l
   where l.name = a_lock and not l.listed and l.sole_id <> a_id and l.sole_expires > v_now
     and l.kind = a_kind and l.capacity = a_capacity
     and l.sole_weight + a_weight::bigint > l.capacity
     and not exists (
       select from holdfast.tombstones t
        where t.lock = a_lock and t.id = a_id and t.until > v_now
     );
  return '{"outcome":"busy","holderRemainingMs":' || v_left_ms || '}';
end
$apply_single$;
