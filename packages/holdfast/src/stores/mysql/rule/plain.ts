/**
 * A short way for what most requests are: attempts on locks that are free, and renewals and
 * releases by a lock's only holder, whom nobody waits for.
 *
 * Such a holder stands in the row of its lock (`sole_…`; `sole_expires_us` is 0 when there is
 * none), so that one statement decides: it waits for the row, and judges what is in it then.
 * `listed` says that the lock has holders or waiters in tables of theirs; those go the long way,
 * which first makes a sole holder one of them (see SETTLE) and gives the same answers (see
 * verbs.ts).
 *
 * What is decided here is as of a moment before the row was waited for. That is safe: nothing here
 * takes a lease for ended, a new one ends too soon rather than too late, and a renewal finds nobody
 * else in the row.
 */
import { COMMIT, ROLLBACK } from './ends.js'

const COLUMNS = /* sql */ `(
    name, kind, capacity, last_token, sole_id, sole_owner, sole_weight, sole_tokens, sole_granted_us, sole_ttl_ms,
    sole_expires_us, turn
  )`

/**
 * Requests come as rows of which only those of attempts are held, and only those of withdrawals
 * have a TTL of 0.
 */
const GRANTS = 'values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0'
const KEEPS =
  'values(sole_weight) = 0 and not listed and sole_id = values(sole_id) and sole_expires_us > v_now'
const granted = (column: string): string =>
  `${column} = if(${GRANTS}, values(${column}), ${column})`
const renewed = (column: string): string =>
  `${column} = if((${GRANTS}) or (${KEEPS}) and values(sole_ttl_ms) > 0, values(${column}), ${column})`

/**
 * A row that was missing is made, and one that is not changed is locked as well. What the
 * conditions depend on comes last, as assignments see those before them.
 */
const DECIDE = /* sql */ `on duplicate key update
    ${['kind', 'capacity', 'sole_weight', 'sole_tokens', 'sole_granted_us'].map(granted).join(',\n    ')},
    last_token = if(${GRANTS}, greatest(last_token + 1, v_now) + values(sole_tokens) - 1, last_token),
    ${['sole_owner', 'sole_ttl_ms'].map(renewed).join(',\n    ')},
    ${granted('sole_id')},
    turn = if((${GRANTS}) or (${KEEPS}), v_turn, turn),
    sole_expires_us = if(${KEEPS}, if(values(sole_ttl_ms) > 0, v_now + round(values(sole_ttl_ms) * 1000), 0),
      if(${GRANTS}, values(sole_expires_us), sole_expires_us))`

const IS_SOLE = 'name = a_name and not listed and sole_id = a_id and sole_expires_us > v_now'

/** One request of those; what is not plain in the end goes on to `turn_2`. */
export const ONE = /* sql */ `
create procedure if not exists holdfast_one_2(
  in a_verb varchar(16) character set ascii, in a_name varbinary(512), in a_id varchar(64) character set ascii,
  in a_owner longtext character set utf8mb4, in a_kind varchar(16) character set utf8mb4, in a_capacity int,
  in a_weight int, in a_tokens int, in a_ttl_ms double, in a_ops longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_until bigint default v_now + round(a_ttl_ms * 1000);
  declare v_token bigint default 0;
  declare v_served boolean;
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;
  -- Without autocommit the session is in a transaction already, on a level of its own.
  ${COMMIT};
  set transaction isolation level read committed;
  start transaction;
  case a_verb
    when 'attempt' then
      update holdfast_locks
         set kind = a_kind, capacity = a_capacity, sole_id = a_id, sole_owner = a_owner, sole_weight = a_weight,
             sole_tokens = a_tokens, sole_granted_us = v_now, sole_ttl_ms = a_ttl_ms, sole_expires_us = v_until,
             last_token = last_insert_id(greatest(last_token + 1, v_now) + a_tokens - 1)
       where name = a_name and not listed and not guarded and sole_expires_us = 0 and a_weight <= a_capacity;
      set v_served = row_count() = 1;
      if v_served then set v_token = last_insert_id() - a_tokens + 1;
      elseif a_weight <= a_capacity and not exists (select 1 from holdfast_locks where name = a_name) then
        insert ignore into holdfast_locks ${COLUMNS}
        values (a_name, a_kind, a_capacity, v_now + a_tokens - 1, a_id, a_owner, a_weight, a_tokens, v_now, a_ttl_ms, v_until,
                0);
        set v_served = row_count() = 1, v_token = v_now;
      end if;
      set v_served = v_served and not exists (
        select 1 from holdfast_tombstones where name = a_name and id = a_id and until_us > v_now
      );
    when 'renew' then
      update holdfast_locks set sole_owner = a_owner, sole_ttl_ms = a_ttl_ms, sole_expires_us = v_until where ${IS_SOLE};
      set v_served = row_count() = 1;
    when 'withdraw' then
      update holdfast_locks set sole_expires_us = 0 where ${IS_SOLE};
      set v_served = row_count() = 1;
      if v_served then
        replace into holdfast_tombstones (name, id, until_us, outcome) values (a_name, a_id, v_until, 'released');
      end if;
  end case;
  if v_served then
    ${COMMIT};
    select 1 as place, cast(v_token as char) as token;
    if rand() < 0.02 then call holdfast_sweep_1(v_now); end if;
  else
    ${ROLLBACK};
    call holdfast_turn_2(json_array(hex(a_name)), a_ops, false);
  end if;
end`

/**
 * The requests of a turn as rows. Long text makes the table a slow one, so most statements do
 * without.
 */
const asked = (columns: string): string => /* sql */ `json_table(a_ops, '$[*]' columns (
      a_place for ordinality, a_verb varchar(16) character set ascii path '$.verb',
      a_lock varchar(1024) character set ascii path '$.lock', a_id varchar(64) character set ascii path '$.id',
      a_ttl_ms double path '$.ttlMs'${columns}
    )) a`
const ASKED = asked('')
const ASKED_WHOLE = asked(/* sql */ `,
      a_owner longtext character set utf8mb4 path '$.owner', a_kind varchar(16) character set utf8mb4 path '$.kind',
      a_capacity int path '$.capacity', a_weight int path '$.weight', a_tokens int path '$.tokens'`)
const WITH_LOCKS = `${ASKED} straight_join holdfast_locks l on l.name = unhex(a.a_lock)`
const MAY_HOLD = `a.a_verb = 'attempt' and a.a_weight <= a.a_capacity`
const IS_PLAIN = `a.a_verb in ('attempt', 'renew', 'withdraw')`
/**
 * Requests on as many locks, in one transaction that `turn_2` has begun and ends: all rows are
 * locked, in the order of the requests. Gives the answers of those that were served, and the places
 * of the others, or null when there are none. `a_late` says that an attempt came after its
 * withdrawal, and that all is to be undone.
 *
 * The places are put together one by one: the length of what an aggregate makes of them is limited
 * by the session, which would cut the list in silence, in the middle of a place even, and answers
 * would go to requests of others.
 */
export const PLAIN = /* sql */ `
create procedure if not exists holdfast_plain_1(
  in a_ops longtext character set utf8mb4, out a_left text character set ascii, out a_late boolean
)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_turn bigint unsigned default uuid_short();
  declare v_changed, v_place int;
  declare v_none boolean default false;
  declare c_left cursor for select a.a_place from ${WITH_LOCKS} where l.turn <> v_turn;
  declare continue handler for not found set v_none = true;
  insert into holdfast_locks ${COLUMNS}
  select unhex(a.a_lock), coalesce(a.a_kind, 'mutex'), coalesce(a.a_capacity, 1),
         if(${MAY_HOLD}, v_now + a.a_tokens - 1, 0), if(${IS_PLAIN}, a.a_id, null), a.a_owner,
         if(${MAY_HOLD}, a.a_weight, 0), a.a_tokens, v_now, if(a.a_verb = 'withdraw', 0, a.a_ttl_ms),
         if(${MAY_HOLD}, v_now + round(a.a_ttl_ms * 1000), 0), if(${MAY_HOLD}, v_turn, 0)
    from ${ASKED_WHOLE}
  ${DECIDE};
  set v_changed = row_count();
  set a_late = locate('"attempt"', a_ops) and exists (
    select 1 from ${ASKED} straight_join holdfast_tombstones t on t.name = unhex(a.a_lock) and t.id = a.a_id
     where a.a_verb = 'attempt' and t.until_us > v_now
  );
  if not a_late then
    if locate('"withdraw"', a_ops) then
      replace into holdfast_tombstones (name, id, until_us, outcome)
      select l.name, a.a_id, v_now + round(a.a_ttl_ms * 1000), 'released' from ${WITH_LOCKS}
       where a.a_verb = 'withdraw' and l.turn = v_turn;
    end if;
    -- A row that was changed counts twice: then there is nobody left.
    if v_changed < 2 * json_length(a_ops) then
      open c_left;
      fetch c_left into v_place;
      while not v_none do
        set a_left = concat_ws(',', a_left, v_place);
        fetch c_left into v_place;
      end while;
      close c_left;
    end if;
    select a.a_place as place, cast(l.last_token - l.sole_tokens + 1 as char) as token from ${WITH_LOCKS} where l.turn = v_turn;
  end if;
end`
