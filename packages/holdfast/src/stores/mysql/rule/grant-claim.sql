-- Grants a claim and returns its first token. Tokens are at least the server time in microseconds,
-- so they keep growing after a restore from a backup. apply-fast.sql, apply-one.sql and adopt.sql
-- make their tokens by the same expression.
--
-- Checks that the holders of the lock fit its capacity: more of them would be a broken rule, and
-- the batch is rolled back.
--
-- Input   a_name, a_id, a_owner, a_weight, a_tokens, a_ttl_ms  the claim
--         a_free  how much weight the lock has free
--         a_now  the time of the batch
-- Output  a_token  the first token of the grant
create procedure if not exists holdfast_grant_claim_v1(
  in a_name varbinary(512), in a_id varchar(64) character set ascii,
  in a_owner longtext character set utf8mb4, in a_weight int, in a_tokens int, in a_ttl_ms double,
  in a_free bigint, in a_now bigint, out a_token bigint
)
modifies sql data sql security invoker
begin
  if not (a_weight between 1 and a_free and a_tokens > 0) then
    signal sqlstate 'HF003' set message_text = 'a grant exceeds the capacity of its lock';
  end if;
  update holdfast_locks
     set last_token = last_insert_id(greatest(last_token + 1, a_now) + a_tokens - 1), listed = true
   where name = a_name;
  set a_token = last_insert_id() - a_tokens + 1;
  insert into holdfast_holders
    (name, id, owner, weight, token, tokens, granted_us, ttl_ms, expires_us)
  values (a_name, a_id, a_owner, a_weight, a_token, a_tokens, a_now, a_ttl_ms,
          a_now + round(a_ttl_ms * 1000));
end//
