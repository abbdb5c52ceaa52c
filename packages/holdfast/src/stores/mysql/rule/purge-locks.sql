-- Deletes the rows of locks that no client has used for a long time.
--
-- The row of a lock makes its tokens grow. But a token is also at least the server time of its
-- grant, in microseconds. So the row may go once its last token is some days old: the next token
-- starts at the server time and is larger. Only a clock that was set back by as much could make it
-- smaller, so a row is kept for a day at least.
--
-- The procedure decides about a lock only after it has locked the lock's row, in a transaction of
-- its own. It skips rows that another session has locked. A session that waits for a deleted row
-- finds it gone and inserts it again.
--
-- Input   a_days  for how long a lock was not used: a day at least
--         a_limit  how many rows are looked at
-- Output  row  purged: how many rows were deleted
create procedure if not exists holdfast_purge_locks_v1(in a_days double, in a_limit int)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_before bigint default v_now - round(a_days * 86400000000);
  declare v_name varbinary(512);
  declare v_channels longtext character set ascii;
  declare v_guarded boolean;
  declare v_pass boolean;
  declare v_none boolean default false;
  declare v_count int default 0;
  declare c_idle cursor for
    select name from holdfast_locks where last_token > 0 and last_token < v_before limit a_limit;
  declare continue handler for not found set v_none = true;
  declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
  if a_days < 1 then
    signal sqlstate '45000' set message_text = 'rows of locks must be kept for a day at least';
  end if;
  open c_idle;
  each_lock: loop
    fetch c_idle into v_name;
    if v_none then leave each_lock; end if;
    set v_guarded = null;
    commit and no chain no release;
    set transaction isolation level read committed;
    start transaction;
    select guarded into v_guarded from holdfast_locks
     where name = v_name and last_token > 0 and last_token < v_before and sole_expires_us <= v_now
       for update skip locked;
    set v_channels = '';
    -- There may have been no request since its leases ended.
    if v_guarded is not null then
      call holdfast_expire_and_promote_v1(v_name, v_now, v_channels);
    end if;
    set v_pass = v_guarded is not null
      and not exists (select 1 from holdfast_holders where name = v_name)
      and not exists (select 1 from holdfast_waiters where name = v_name);
    if v_pass and v_guarded then call holdfast_try_pass_guard_v1(v_name, v_pass); end if;
    if v_pass then
      delete from holdfast_guards where name = v_name;
      delete from holdfast_locks where name = v_name;
      set v_count = v_count + 1;
    end if;
    commit and no chain no release;
    if v_channels <> '' then call holdfast_notify_clients_v1(v_channels); end if;
    set v_none = false;
  end loop;
  close c_idle;
  select v_count as purged;
end//
