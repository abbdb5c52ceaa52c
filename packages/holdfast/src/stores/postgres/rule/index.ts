/**
 * The grant rule of `store/grant-rule.ts` in PL/pgSQL, and the one function that clients call:
 * `turn_1`, with a list of requests as JSON and a list of answers back, in one round trip and one
 * transaction.
 *
 * Why it is safe: `turn_1` first locks the rows of its locks, in the order of their names, and only
 * then runs further statements. In READ COMMITTED each of those sees what was committed before it
 * began, and so all that the one before us did under the same row lock. A single statement that
 * locks the row and adds up the holders would not do: its snapshot is older than its wait for the
 * row, and both of two contenders would find the lock free.
 *
 * The number in the names is that of the protocol. Another one would get functions of its own
 * beside these, so that clients of two versions can share the tables while a new one is rolled out.
 */
import { PLAIN } from './plain.js'
import { PURGE } from './purge.js'
import { SETTLE, BURY, HOLD, PASS, GUARD, PROMOTE } from './queue.js'
import { ATTEMPT, RENEW, WITHDRAW, DOWNGRADE, STEAL, INSPECT } from './verbs.js'

/**
 * Planned once, and never with a scan of a whole table: the tables are small when the plan is made
 * and may not stay so. Compiling such a plan would cost a hundred times what running it does.
 *
 * A refusal, a place in the queue and a sign of life need not be on the disk before they are
 * answered: what a crash of the server undoes there costs a place in the queue. They are on the
 * disk with the next grant. A release that nobody waited for must be: one that a crash undoes would
 * leave a lock to nobody until its TTL, and to be released is to be free.
 *
 * The tombstones of a busy service are many, so one turn in twenty takes away those that have
 * served.
 */
const TURN = /* sql */ `
create or replace function holdfast.turn_1(a_ops jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $turn$
declare
  v_names text[];
  v_name text;
  v_locked integer;
  v_complete boolean;
  v_now timestamptz;
  v_op jsonb;
  v_place bigint;
  v_answer jsonb;
  v_results jsonb[];
  v_left integer := jsonb_array_length(a_ops);
  v_durable boolean := false;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'the isolation level is %', current_setting('transaction_isolation') using errcode = 'HF001';
  end if;
  -- Most turns are for one lock: a list of one costs a third more than the name.
  v_name := case when jsonb_array_length(a_ops) = 1 then a_ops -> 0 ->> 'lock' end;
  if v_name is not null then
    perform from holdfast.locks l where l.name = v_name for update;
    v_complete := found;
  else
    select array_agg(distinct (o ->> 'lock') collate "C" order by (o ->> 'lock') collate "C")
      into v_names from jsonb_array_elements(a_ops) o;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
    get diagnostics v_locked = row_count;
    v_complete := v_locked = cardinality(v_names);
  end if;
  if not v_complete then
    v_names := coalesce(v_names, array[v_name]);
    -- A withdrawal makes the row too: it must be seen by the attempt that it overtook, which locks the same row.
    insert into holdfast.locks (name)
    select distinct (o ->> 'lock') collate "C" as n from jsonb_array_elements(a_ops) o
     where o ->> 'verb' in ('attempt', 'withdraw') order by n
    on conflict do nothing;
    perform from holdfast.locks l where l.name = any (v_names) order by l.name for update;
  end if;
  v_now := clock_timestamp();
  if v_name is not null then
    if exists (select from holdfast.waiters w where w.lock = v_name)
       or exists (select from holdfast.holders h where h.lock = v_name and h.expires <= v_now) then
      perform holdfast.settle_1(v_name, v_now);
    end if;
  else
    for v_name in
      select n from unnest(v_names) n
       where exists (select from holdfast.holders h where h.lock = n and h.expires <= v_now)
          or exists (select from holdfast.waiters w where w.lock = n)
    loop
      perform holdfast.settle_1(v_name, v_now);
    end loop;
  end if;
  v_results := array_fill(null::jsonb, array[v_left]);
  if v_left > 1 and v_left = cardinality(v_names) then
    for v_place, v_answer in select p.place, p.answer from holdfast.plain_1(a_ops, v_now) p loop
      v_results[v_place] := v_answer;
      v_left := v_left - 1;
      v_durable := true;
    end loop;
  end if;
  if v_left > 0 then
    for v_op, v_place in select o, n from jsonb_array_elements(a_ops) with ordinality as e (o, n) loop
      continue when v_results[v_place] is not null;
      v_results[v_place] := case v_op ->> 'verb'
        when 'attempt' then holdfast.attempt_1(v_op, v_now)
        when 'withdraw' then holdfast.withdraw_1(v_op, v_now)
        when 'renew' then holdfast.renew_1(v_op, v_now)
        when 'downgrade' then holdfast.downgrade_1(v_op, v_now)
        when 'steal' then holdfast.steal_1(v_op, v_now)
        when 'guard' then holdfast.guard_1(v_op)
        when 'inspect' then holdfast.inspect_1(v_op, v_now)
      end;
      v_durable := v_durable or v_op ->> 'verb' in ('renew', 'withdraw', 'downgrade', 'steal', 'guard');
    end loop;
  end if;
  if random() < 0.05 then
    delete from holdfast.tombstones t where t.ctid = any (array(
      select u.ctid from holdfast.tombstones u where u.until <= v_now order by u.until limit 5000 for update skip locked
    ));
  end if;
  if not v_durable and current_setting('holdfast_turn.granted', true) is distinct from 'yes' then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  return to_jsonb(v_results);
end
$turn$;
`

export const RULE = [
  SETTLE,
  BURY,
  HOLD,
  PASS,
  GUARD,
  PROMOTE,
  ATTEMPT,
  RENEW,
  WITHDRAW,
  DOWNGRADE,
  STEAL,
  INSPECT,
  PLAIN,
  TURN,
  PURGE,
].join('')
