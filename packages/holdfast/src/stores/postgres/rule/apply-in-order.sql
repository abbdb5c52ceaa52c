-- Applies the requests of a batch that no fast path has served, in their order.
--
-- Input   a_requests  the requests of the batch, on locks whose rows are locked
--         a_answers  the answers that there are, null for the others
--         a_now  the time of the batch
-- Output  answers  the answers to all requests
--         durable  whether they must be on the disk before the answer; a grant itself notes that
create or replace function holdfast.apply_in_order_v1(
  a_requests jsonb, a_answers jsonb[], a_now timestamptz,
  out answers jsonb[], out durable boolean
)
language plpgsql as $apply_in_order$
declare
  v_names text[];
  v_name text;
  v_changes boolean;
  v_moves boolean;
  v_request jsonb;
  v_position bigint;
  v_answer jsonb;
begin
  answers := a_answers;
  durable := false;
  for v_name, v_changes in
    select e.r ->> 'lock', bool_or(e.r ->> 'verb' not in ('guard', 'inspect'))
      from jsonb_array_elements(a_requests) with ordinality as e (r, n)
     where a_answers[e.n] is null group by e.r ->> 'lock'
  loop
    v_names := v_names || v_name;
    -- A look or a guard leaves a holder in the row of the lock. The batch inserts no row for most
    -- verbs, so there may be one now that is not locked yet.
    select l.sole_id is not null and (v_changes or l.sole_expires <= a_now) into v_moves
      from holdfast.locks l where l.name = v_name for update;
    if v_moves
       or exists (select from holdfast.holders h where h.lock = v_name and h.expires <= a_now)
       or exists (select from holdfast.waiters w where w.lock = v_name)
    then
      perform holdfast.expire_and_promote_v1(v_name, a_now);
    end if;
  end loop;
  for v_request, v_position in
    select r, n from jsonb_array_elements(a_requests) with ordinality as e (r, n)
     where a_answers[n] is null order by n
  loop
    v_answer := case v_request ->> 'verb'
      when 'attempt' then holdfast.attempt_v1(v_request, a_now)
      when 'withdraw' then holdfast.withdraw_v1(v_request, a_now)
      when 'renew' then holdfast.renew_v1(v_request, a_now)
      when 'downgrade' then holdfast.downgrade_v1(v_request, a_now)
      when 'adopt' then holdfast.adopt_v1(v_request, a_now)
      when 'takeOver' then holdfast.adopt_v1(v_request, a_now)
      when 'steal' then holdfast.steal_v1(v_request, a_now)
      when 'stealClaim' then holdfast.steal_v1(v_request, a_now)
      when 'guard' then holdfast.create_guard_v1(v_request)
      when 'inspect' then holdfast.inspect_v1(v_request, a_now)
    end;
    if v_answer is null then
      raise exception 'the request % has no answer', v_request ->> 'verb' using errcode = 'HF003';
    end if;
    answers[v_position] := v_answer;
    durable := durable or v_request ->> 'verb' in
      ('renew', 'withdraw', 'downgrade', 'adopt', 'takeOver', 'steal', 'stealClaim', 'guard');
  end loop;
  update holdfast.locks l set listed = not l.listed
   where l.name = any (v_names)
     and l.listed is distinct from (
       exists (select from holdfast.holders h where h.lock = l.name)
       or exists (select from holdfast.waiters w where w.lock = l.name)
     );
end
$apply_in_order$;
