-- Deletes expired tombstones. A busy service leaves many, so some calls run this.
--
-- Input   a_now  the time of the batch
-- Output  none
create procedure if not exists holdfast_delete_tombstones_v1(in a_now bigint)
modifies sql data sql security invoker
begin
  -- On the level of most sessions this would lock the gaps between tombstones too, and wait for
  -- releases that wait for it.
  commit and no chain no release;
  set transaction isolation level read committed;
  start transaction;
  delete from holdfast_tombstones where until_us <= a_now order by until_us limit 5000;
  delete from holdfast_steals where until_us <= a_now order by until_us limit 5000;
  commit and no chain no release;
end//
