-- The fast path for batches that concern several locks, each once. One statement grants all claims
-- on free locks, and serves renewals and releases by holders in the rows of their locks. Other
-- requests it leaves to the functions of the verbs, which give the same answers.
--
-- The caller has locked the rows of the locks, so the snapshot of this statement is current. Each
-- lock is concerned once, so no answer depends on another. A nested loop looks up each lock by its
-- key, however large the tables have become since the plan was made.
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
    select r.*, a_now + r.ttl_ms * interval '1 millisecond' as until from rows from (
      jsonb_to_recordset(a_requests) as (
        verb text, lock text, id text, kind text, capacity integer, weight integer, tokens integer,
        "ttlMs" double precision, owner text, "keepsEnd" boolean
      )
    ) with ordinality
      as r (verb, lock, id, kind, capacity, weight, tokens, ttl_ms, owner, keeps_end, "position")
    where r.verb in ('attempt', 'renew', 'withdraw') and r.keeps_end is null
  ),
  granted as (
    update holdfast.locks l
       set kind = r.kind, capacity = r.capacity, sole_id = r.id, sole_owner = r.owner,
           sole_weight = r.weight, sole_tokens = r.tokens, sole_granted = a_now,
           sole_ttl_ms = r.ttl_ms, sole_expires = r.until,
           last_token =
             greatest(l.last_token + 1, (extract(epoch from a_now) * 1000000)::bigint) + r.tokens - 1
      from requests r
     where r.verb = 'attempt' and l.name = r.lock and l.sole_id is null and not l.listed
       and not l.guarded and r.weight between 1 and r.capacity and r.tokens > 0
       and not exists (
         select from holdfast.tombstones t where t.lock = r.lock and t.id = r.id and t.until > a_now
       )
    returning r."position", r.tokens, r.ttl_ms, l.last_token - r.tokens + 1 as token
  ),
  renewed as (
    update holdfast.locks l
       set sole_owner = r.owner, sole_ttl_ms = r.ttl_ms, sole_expires = r.until
      from requests r
     where r.verb = 'renew' and l.name = r.lock and not l.listed and l.sole_id = r.id
       and l.sole_expires > a_now
    returning r."position"
  ),
  released as (
    update holdfast.locks l set sole_id = null
      from requests r
     where r.verb = 'withdraw' and l.name = r.lock and not l.listed and l.sole_id = r.id
       and l.sole_expires > a_now
    returning r.lock, r.id, r.until, r."position"
  ),
  inserted_tombstones as (
    insert into holdfast.tombstones as t (lock, id, until, outcome)
    select r.lock, r.id, r.until, 'released' from released r
    on conflict (lock, id) do update set until = excluded.until, outcome = excluded.outcome
  )
  select g."position", jsonb_build_object(
      'outcome', 'granted', 'existing', false, 'tokens', g.tokens, 'ttlMs', g.ttl_ms,
      'remainingMs', g.ttl_ms, 'token', g.token::text
    ) from granted g
  union all
  select r."position", '{"outcome": "renewed"}'::jsonb from renewed r
  union all
  select r."position", '{"outcome": "released"}'::jsonb from released r;
end
$apply_fast$;
