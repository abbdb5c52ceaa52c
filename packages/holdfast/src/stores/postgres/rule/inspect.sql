-- Describes a lock with its holders and waiters.
--
-- Input   a_request  lock; upTo: waiters after the last of these claims are left out
--         a_now  the time of the batch
-- Output  lock, holders, waiters
create or replace function holdfast.inspect_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $inspect$
begin
  return coalesce((
    select jsonb_build_object(
      'lock', jsonb_build_object(
        'kind', l.kind, 'capacity', l.capacity, 'lastToken', l.last_token::text
      ),
      'holders', coalesce((
        select jsonb_agg(jsonb_build_object(
          'claimId', h.id, 'owner', h.owner, 'weight', h.weight,
          -- Only the process of the holder knows which of several tokens is in use.
          'token', case when h.tokens = 1 then h.token::text end,
          'heldMs', extract(epoch from a_now - h.granted) * 1000,
          'remainingMs', extract(epoch from h.expires - a_now) * 1000, 'ttlMs', h.ttl_ms,
          'stolen', h.stolen, 'stealReason', h.steal_reason
        ) order by h.seq)
        from (
          select g.seq, g.id, g.owner, g.weight, g.token, g.tokens, g.granted, g.ttl_ms, g.expires,
                 g.stolen, g.steal_reason
            from holdfast.holders g where g.lock = l.name
          union all
          select 0, l.sole_id, l.sole_owner, l.sole_weight, l.last_token - l.sole_tokens + 1,
                 l.sole_tokens, l.sole_granted, l.sole_ttl_ms, l.sole_expires, false, null
           where l.sole_id is not null
        ) h
      ), '[]'),
      'waiters', coalesce((
        select jsonb_agg(jsonb_build_object(
          'claimId', w.id, 'owner', w.owner, 'weight', w.weight,
          'waitedMs', extract(epoch from a_now - w.since) * 1000
        ) order by w.seq)
        from holdfast.waiters w where w.lock = l.name
          and w.seq <= case when a_request ->> 'upTo' is null then 9223372036854775807 else coalesce((
            select max(o.seq) from holdfast.waiters o
             where o.lock = l.name and o.id = any (string_to_array(a_request ->> 'upTo', ','))
          ), 0) end
      ), '[]')
    )
    from holdfast.locks l where l.name = a_request ->> 'lock'
  ), '{"holders": [], "waiters": []}');
end
$inspect$;
