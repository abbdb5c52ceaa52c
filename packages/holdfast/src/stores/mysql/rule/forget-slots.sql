-- Deletes slots of a schedule whose leases have ended. Each tick of `oncePerTick` is a lock of its
-- own, and no client asks for it again. So each attempt on a slot deletes the earliest ones of the
-- same schedule: more than a tick adds, however many replicas attempt it.
--
-- No user sees the token of a slot, and no transaction covers one. So its row may go at once, where
-- the row of another lock stays for its tokens (purge-locks.sql).
--
-- The procedure runs in a transaction of its own, after the answer. It skips rows that another
-- session has locked, so it never waits. What fails here succeeds at another tick.
--
-- Input   a_lock  the lock of an attempt: nothing happens where that is no slot
--         a_now  the time of the batch
-- Output  none
create procedure if not exists holdfast_forget_slots_v1(in a_lock varbinary(512), in a_now bigint)
modifies sql data sql security invoker
begin
  declare v_slot varchar(99) character set utf8mb4 default
    '@tick:[-+]?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{3})?Z$';
  declare v_schedule varbinary(512)
    default left(a_lock, length(a_lock) - length(substring_index(a_lock, '@tick:', -1)));
  declare v_name varbinary(512);
  declare v_ended boolean;
  declare v_none boolean default false;
  declare c_earliest cursor for
    select name from holdfast_locks
     where name > v_schedule and name < a_lock order by name limit 8;
  declare continue handler for not found set v_none = true;
  declare exit handler for sqlexception rollback and no chain no release;
  commit and no chain no release;
  set transaction isolation level read committed;
  start transaction;
  if convert(a_lock using utf8mb4) regexp v_slot then
    open c_earliest;
    each_slot: loop
      fetch c_earliest into v_name;
      if v_none then leave each_slot; end if;
      set v_ended = false;
      if convert(v_name using utf8mb4) regexp v_slot then
        select sole_expires_us <= a_now into v_ended from holdfast_locks where name = v_name
           for update skip locked;
      end if;
      if v_ended
         and not exists (
           select 1 from holdfast_holders where name = v_name and expires_us > a_now
         )
         and not exists (select 1 from holdfast_waiters where name = v_name) then
        delete from holdfast_holders where name = v_name;
        delete from holdfast_locks where name = v_name;
      end if;
      set v_none = false;
    end loop;
    close c_earliest;
  end if;
  commit and no chain no release;
end//
