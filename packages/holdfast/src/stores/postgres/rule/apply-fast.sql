-- The fast path for batches that concern several locks, each once. One statement grants all claims
-- on locks without holders, waiters and guards, and releases all claims without waiters behind
-- them. Other requests it leaves to the functions of the verbs, which give the same answers.
--
-- The caller has locked the rows of the locks, so the snapshot of this statement is current. Each
-- lock is concerned once, so no answer depends on another. A nested loop looks up each lock by its
-- key, however large the tables have become since the plan was made.
--
-- With 16 locks in flight this path takes a third of the server's time off each pair;
-- docs/internals/design.md has the figures.
--
-- Input   a_requests  the requests of the batch
--         a_now  the time of the batch
-- Output  a row for each served request: its position from 1, and its answer
create or replace function holdfast.apply_fast_v1(a_requests jsonb, a_now timestamptz)
returns table ("position" bigint, answer jsonb)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
as $apply_fast$
#variable_conflict use_column
begin
  return query
  with requests as materialized (
    select r.* from rows from (
      jsonb_to_recordset(a_requests) as (
        verb text, lock text, id text, kind text, capacity integer, weight integer, tokens integer,
        "ttlMs" double precision, owner text
      )
    ) with ordinality
      as r (verb, lock, id, kind, capacity, weight, tokens, ttl_ms, owner, "position")
    where r.verb in ('attempt', 'withdraw')
  ),
  granted as materialized (
    select r.*, greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) as token
      from requests r join holdfast.locks l on l.name = r.lock
     where r.verb = 'attempt' and r.weight <= r.capacity and not l.guarded
       and not exists (select from holdfast.holders h where h.lock = r.lock)
       and not exists (select from holdfast.waiters w where w.lock = r.lock)
       and not exists (
         select from holdfast.tombstones t where t.lock = r.lock and t.id = r.id and t.until > a_now
       )
  ),
  updated_locks as (
    update holdfast.locks l
       set kind = g.kind, capacity = g.capacity, last_token = g.token + g.tokens - 1
      from granted g where l.name = g.lock
  ),
  inserted_holders as (
    insert into holdfast.holders
      (lock, id, owner, weight, token, tokens, granted, ttl_ms, expires)
    select g.lock, g.id, g.owner, g.weight, g.token, g.tokens, a_now, g.ttl_ms,
           a_now + g.ttl_ms * interval '1 millisecond' from granted g
  ),
  released as (
    delete from holdfast.holders h using requests r
     where r.verb = 'withdraw' and h.lock = r.lock and h.id = r.id
       and not exists (select from holdfast.waiters w where w.lock = r.lock)
    returning h.lock, h.id, r.ttl_ms, r."position"
  ),
  inserted_tombstones as (
    insert into holdfast.tombstones as t (lock, id, until, outcome)
    select r.lock, r.id, a_now + r.ttl_ms * interval '1 millisecond', 'released' from released r
    on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome
  )
  select g."position", jsonb_build_object(
      'outcome', 'granted', 'existing', false, 'tokens', g.tokens, 'ttlMs', g.ttl_ms,
      'remainingMs', g.ttl_ms, 'token', g.token::text
    ) from granted g
  union all
  select r."position", jsonb_build_object('outcome', 'released') from released r;
end
$apply_fast$;
