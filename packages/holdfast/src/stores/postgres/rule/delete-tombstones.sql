-- Deletes expired tombstones. A busy service leaves many, so some calls run this.
--
-- Input   a_now  the time of the batch
-- Output  none
create or replace function holdfast.delete_tombstones_v1(a_now timestamptz) returns void
language plpgsql as $delete_tombstones$
begin
  delete from holdfast.tombstones t where t.ctid = any (array(
    select u.ctid from holdfast.tombstones u
     where u.until <= a_now order by u.until limit 5000 for update skip locked
  ));
end
$delete_tombstones$;
