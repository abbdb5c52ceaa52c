/**
 * Taking away the rows of locks that nobody has used for long.
 *
 * A row is what lets tokens grow. But a token also exceeds the time of its grant, in microseconds,
 * so that a row whose last token is older than some days may go: the next one begins at the time,
 * and is larger all the same unless the clock was set back by as much. That is why it takes a day
 * at least.
 *
 * A lock is decided about only with its row locked, and so it is here, one lock in a transaction. A
 * row that somebody else has is not waited for, and who waits for one of ours finds it gone and
 * makes it anew.
 */
import { COMMIT, ROLLBACK } from './ends.js'

export const PURGE = /* sql */ `
create procedure if not exists holdfast_purge_1(in a_days double, in a_limit int)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_before bigint default v_now - round(a_days * 86400000000);
  declare v_name varbinary(512);
  declare v_guarded boolean;
  declare v_pass boolean;
  declare v_none boolean default false;
  declare v_count int default 0;
  declare c_idle cursor for
    select name from holdfast_locks where last_token > 0 and last_token < v_before limit a_limit;
  declare continue handler for not found set v_none = true;
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;
  if a_days < 1 then
    signal sqlstate '45000' set message_text = 'rows of locks must be kept for a day at least';
  end if;
  open c_idle;
  each_lock: loop
    fetch c_idle into v_name;
    if v_none then leave each_lock; end if;
    set v_guarded = null;
    ${COMMIT};
    set transaction isolation level read committed;
    start transaction;
    select guarded into v_guarded from holdfast_locks
     where name = v_name and last_token > 0 and last_token < v_before and sole_expires_us <= v_now for update skip locked;
    set v_pass = v_guarded is not null
      and not exists (select 1 from holdfast_holders where name = v_name)
      and not exists (select 1 from holdfast_waiters where name = v_name);
    if v_pass and v_guarded then call holdfast_pass_1(v_name, v_pass); end if;
    if v_pass then
      delete from holdfast_guards where name = v_name;
      delete from holdfast_locks where name = v_name;
      set v_count = v_count + 1;
    end if;
    ${COMMIT};
    set v_none = false;
  end loop;
  close c_idle;
  select v_count as purged;
end`
