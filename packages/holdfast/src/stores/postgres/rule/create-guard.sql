-- Inserts the guard of a held lease. The next grant has to pass it.
--
-- Input   a_request  lock, id
-- Output  done: whether the claim holds the lock
create or replace function holdfast.create_guard_v1(a_request jsonb) returns jsonb
language plpgsql as $create_guard$
declare
  v_token constant bigint := (
    select h.token from holdfast.holders h
     where h.lock = a_request ->> 'lock' and h.id = a_request ->> 'id' and not h.stolen
    union all
    select l.last_token - l.sole_tokens + 1 from holdfast.locks l
     where l.name = a_request ->> 'lock' and l.sole_id = a_request ->> 'id'
  );
begin
  if v_token is not null then
    insert into holdfast.guards (name, token) values (a_request ->> 'lock', v_token)
    on conflict do nothing;
    update holdfast.locks l set guarded = true where l.name = a_request ->> 'lock';
  end if;
  return jsonb_build_object('done', v_token is not null);
end
$create_guard$;
