-- Finds out whether a steal has removed a claim, and why.
--
-- Input   a_name, a_id  the claim
--         a_now  the time of the batch
-- Output  a_stolen  whether a steal has removed it
--         a_steal_reason  the reason as JSON, or null
create procedure if not exists holdfast_find_steal_v1(
  in a_name varbinary(512), in a_id varchar(64) character set ascii, in a_now bigint,
  out a_stolen boolean, out a_steal_reason text character set utf8mb4
)
reads sql data sql security invoker
begin
  select count(*) > 0, max(f.steal_reason) into a_stolen, a_steal_reason
    from holdfast_tombstones t left join holdfast_steals f on f.name = t.name and f.id = t.id
   where t.name = a_name and t.id = a_id and t.until_us > a_now and t.outcome = 'stolen';
end//
