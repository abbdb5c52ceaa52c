/**
 * A short way for turns that concern several locks, each once: what most requests are is done for
 * all of them in one statement. Those are attempts on locks that nobody holds, wants or guards, and
 * releases that nobody waits for. It returns the answers with the places of their requests; to the
 * others it does nothing.
 *
 * The rows of the locks are locked when it begins, so what it sees is what is so; and as each lock
 * is asked about once, no answer depends on another. The long way gives the same answers: see
 * verbs.ts. A join goes through the few that were asked about and looks each one up, however large
 * the tables have become since it was planned.
 */
export const PLAIN = /* sql */ `
create or replace function holdfast.plain_1(a_ops jsonb, a_now timestamptz)
returns table (place bigint, answer jsonb)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
as $plain$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select a.* from rows from (
      jsonb_to_recordset(a_ops) as (
        verb text, lock text, id text, kind text, capacity integer, weight integer, tokens integer,
        "ttlMs" double precision, owner text
      )
    ) with ordinality as a (verb, lock, id, kind, capacity, weight, tokens, ttl_ms, owner, place)
    where a.verb in ('attempt', 'withdraw')
  ),
  free as materialized (
    select a.*, greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) as token
      from asked a join holdfast.locks l on l.name = a.lock
     where a.verb = 'attempt' and a.weight <= a.capacity and not l.guarded
       and not exists (select from holdfast.holders h where h.lock = a.lock)
       and not exists (select from holdfast.waiters w where w.lock = a.lock)
       and not exists (
         select from holdfast.tombstones t where t.lock = a.lock and t.id = a.id and t.until > a_now
       )
  ),
  counted as (
    update holdfast.locks l set kind = f.kind, capacity = f.capacity, last_token = f.token + f.tokens - 1
      from free f where l.name = f.lock
  ),
  granted as (
    insert into holdfast.holders (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
    select f.lock, f.id, f.owner, f.weight, f.token, f.tokens, a_now, f.ttl_ms,
           a_now + f.ttl_ms * interval '1 millisecond' from free f
  ),
  released as (
    delete from holdfast.holders h using asked a
     where a.verb = 'withdraw' and h.lock = a.lock and h.id = a.id
       and not exists (select from holdfast.waiters w where w.lock = a.lock)
    returning h.lock, h.id, a.ttl_ms, a.place
  ),
  buried as (
    insert into holdfast.tombstones as t (lock, id, until, outcome)
    select r.lock, r.id, a_now + r.ttl_ms * interval '1 millisecond', 'released' from released r
    on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome
  )
  select f.place, jsonb_build_object(
      'outcome', 'granted', 'existing', false, 'tokens', f.tokens, 'ttlMs', f.ttl_ms, 'remainingMs', f.ttl_ms,
      'token', f.token::text
    ) from free f
  union all
  select r.place, jsonb_build_object('outcome', 'released') from released r;
end
$plain$;
`
