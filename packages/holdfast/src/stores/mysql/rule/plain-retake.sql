-- Releases a lock that its only holder has, and grants it to the next claim, as a statement of its
-- own. See plain-attempt.sql and plain-release.sql, whose conditions it has.
--
-- Input   kind, capacity, id, owner, weight, tokens, and twice ttlMs of the attempt; tokens again,
--         lock as hexadecimal digits, id of the released claim, and id of the attempt again
-- Output  one changed row with the last token as its number, or none
update holdfast_locks
   set kind = ?, capacity = ?, sole_id = ?, sole_owner = ?, sole_weight = ?, sole_tokens = ?,
       sole_ttl_ms = ?,
       sole_granted_us = timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)),
       sole_expires_us =
         timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) + cast(round(? * 1000) as signed),
       last_token = last_insert_id(
         greatest(last_token + 1, timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)))
         + cast(? as signed) - 1
       )
 where name = unhex(?) and not listed and not guarded
   and sole_id = convert(? using ascii) collate ascii_bin
   and sole_expires_us > timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
   and (
     select count(*) from holdfast_tombstones t force index (primary)
      where t.name = holdfast_locks.name and t.id = convert(? using ascii) collate ascii_bin
        and t.until_us > timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
        lock in share mode
   ) = 0
   and @@in_transaction = 0 and @@autocommit = 1 and @@binlog_format <> 'STATEMENT'
