-- Returns which of these claims hold their locks. An interruption names no claim, and an attempt
-- for each one that waits would cost more than all hand-overs.
--
-- Input   a_claims  a JSON list of pairs: the name in hexadecimal digits and the id
-- Output  rows  id, token, tokens, ttl_ms of the claims that hold
create procedure if not exists holdfast_find_grants_v1(
  in a_claims longtext character set utf8mb4
)
reads sql data sql security invoker
begin
  declare exit handler for 1568 resignal;
  declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;
  set transaction isolation level read committed;
  select h.id, cast(h.token as char) as token, h.tokens, h.ttl_ms
    from json_table(a_claims, '$[*]' columns (
      a_name varchar(1024) character set ascii path '$[0]',
      a_id varchar(64) character set ascii path '$[1]'
    )) a straight_join holdfast_holders h on h.name = unhex(a.a_name) and h.id = a.a_id
   where not h.stolen;
  commit and no chain no release;
end//
