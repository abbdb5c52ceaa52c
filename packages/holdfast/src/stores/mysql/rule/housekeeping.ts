/** Wake-ups, the deletion of expired tombstones, and the list of locks in use. */
import {
  COMMIT,
  ON_OPEN_TRANSACTION,
  REFUSE_OPEN_TRANSACTION,
  ROLLBACK,
} from './commit-and-rollback.js'

/**
 * Wakes clients. Each client sleeps in a statement that contains its channel, and this procedure
 * interrupts that statement. A lock for each channel makes sure that no two sessions interrupt it
 * at once, which MariaDB can take two seconds for; see wake-up-listener.ts. The second session
 * finds the statement interrupted and leaves it. Text without a character set of its own would take
 * that of the database, where a comma may have two bytes or four.
 */
export const NOTIFY_CLIENTS = /* sql */ `
create procedure if not exists holdfast_notify_clients_v1(
  in a_channels longtext character set ascii
)
reads sql data sql security invoker
begin
  declare v_session bigint;
  declare v_rest longtext character set ascii default substring(a_channels, 2);
  declare v_channel varchar(64) character set ascii;
  -- A client that has stopped sleeping asks again by itself.
  declare continue handler for sqlexception begin end;
  while v_rest <> '' do
    set v_channel = substring_index(v_rest, ',', 1);
    set v_rest = substring(v_rest, char_length(v_channel) + 2);
    if get_lock(concat('holdfast_', v_channel), 1) then
      select max(id) into v_session from information_schema.processlist
       where command = 'Query' and info like concat('select sleep%', v_channel, '%');
      if v_session is not null then kill query v_session; end if;
      do release_lock(concat('holdfast_', v_channel));
    end if;
  end while;
end`

/** Deletes expired tombstones. A busy service leaves many, so some calls run this. */
export const DELETE_TOMBSTONES = /* sql */ `
create procedure if not exists holdfast_delete_tombstones_v1(in a_now bigint)
modifies sql data sql security invoker
begin
  -- On the level of most sessions this would lock the gaps between tombstones too, and wait for
  -- releases that wait for it.
  ${COMMIT};
  set transaction isolation level read committed;
  start transaction;
  delete from holdfast_tombstones where until_us <= a_now order by until_us limit 5000;
  ${COMMIT};
end`

/** Returns the names of locks with holders or waiters, as hexadecimal digits. */
export const LIST_LOCKS = /* sql */ `
create procedure if not exists holdfast_list_locks_v1(
  in a_prefix varbinary(512), in a_after varbinary(512), in a_limit int
)
reads sql data sql security invoker
begin
  -- For a session in the mode EMPTY_STRING_IS_NULL no text is null.
  declare v_prefix varbinary(512) default coalesce(a_prefix, '');
  declare v_after varbinary(512) default coalesce(a_after, '');
  ${ON_OPEN_TRANSACTION};
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;
  -- In a transaction the list would come from its snapshot.
  ${REFUSE_OPEN_TRANSACTION};
  select hex(name) as name from (
    select name from holdfast_locks where sole_expires_us > 0 union
    select name from holdfast_holders union select name from holdfast_waiters
  ) used
   where name >= v_prefix and name > v_after and left(name, length(v_prefix)) = v_prefix
   order by used.name limit a_limit;
  -- Without autocommit the list has begun a transaction.
  ${COMMIT};
end`

/**
 * Returns which of these claims hold their locks. The claims are pairs of the name in hexadecimal
 * digits and the id. An interruption names no claim, and an attempt for each one that waits would
 * cost more than all hand-overs.
 */
export const FIND_GRANTS = /* sql */ `
create procedure if not exists holdfast_find_grants_v1(
  in a_claims longtext character set utf8mb4
)
reads sql data sql security invoker
begin
  ${ON_OPEN_TRANSACTION};
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;
  ${REFUSE_OPEN_TRANSACTION};
  select h.id, cast(h.token as char) as token, h.tokens, h.ttl_ms
    from json_table(a_claims, '$[*]' columns (
      a_name varchar(1024) character set ascii path '$[0]',
      a_id varchar(64) character set ascii path '$[1]'
    )) a straight_join holdfast_holders h on h.name = unhex(a.a_name) and h.id = a.a_id
   where not h.stolen;
  ${COMMIT};
end`
