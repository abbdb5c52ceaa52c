/** What operators do with a lock: the verbs that look at it, and that end a grant. */

export const STEAL = /* sql */ `
create or replace function holdfast.steal_v1(a_request jsonb, a_now timestamptz) returns jsonb
language plpgsql as $steal$
declare
  a_lock constant text := a_request ->> 'lock';
  v_now constant boolean := (a_request ->> 'now')::boolean;
  v_holder record;
  v_count integer := 0;
  v_free_in_ms double precision := 0;
  v_guarded boolean := false;
begin
  for v_holder in
    update holdfast.holders h
       set stolen = true, steal_reason = coalesce(a_request ->> 'stealReason', h.steal_reason)
     where h.lock = a_lock
    returning h.id, h.ttl_ms, extract(epoch from h.expires - a_now) * 1000 as left_ms
  loop
    v_count := v_count + 1;
    if v_now then
      perform holdfast.add_tombstone_v1(a_lock, v_holder.id, v_holder.ttl_ms, 'absent', a_now);
    else
      v_free_in_ms := greatest(v_free_in_ms, v_holder.left_ms);
    end if;
  end loop;
  if v_now then
    delete from holdfast.holders h where h.lock = a_lock;
    perform holdfast.promote_waiters_v1(a_lock, a_now);
    -- Checks whether a transaction still has the guard, without disturbing the transaction.
    if exists (select from holdfast.locks l where l.name = a_lock and l.guarded) then
      perform from holdfast.guards g where g.name = a_lock for update skip locked;
      v_guarded := not found and exists (select from holdfast.guards g where g.name = a_lock);
    end if;
  end if;
  return jsonb_build_object('holders', v_count, 'freeInMs', v_free_in_ms, 'guarded', v_guarded);
end
$steal$;
`

export const INSPECT = /* sql */ `
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
          'remainingMs', extract(epoch from h.expires - a_now) * 1000,
          'stolen', h.stolen, 'stealReason', h.steal_reason
        ) order by h.seq)
        from holdfast.holders h where h.lock = l.name
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
`
