-- Grants a free lock, as a statement of its own: MariaDB needs half the time of a procedure for it.
-- It changes nothing where apply-one.sql would not grant by its fast path.
--
-- It is a transaction of its own. So it does nothing inside of one that a program left open, nor
-- where a session does not commit by itself. A replica that got it as a statement would run it
-- inside of a transaction.
--
-- It looks for a tombstone only when it has locked the row, and at the latest state. For this the
-- look has the name of the row and a lock: neither an optimizer nor an older snapshot decides.
--
-- Input   kind, capacity, id, owner, weight, tokens, and twice ttlMs of the request; tokens again,
--         lock as hexadecimal digits, and id again
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
 where name = unhex(?) and not listed and not guarded and sole_expires_us = 0
   and (
     select count(*) from holdfast_tombstones t force index (primary)
      where t.name = holdfast_locks.name and t.id = convert(? using ascii) collate ascii_bin
        and t.until_us > timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
        lock in share mode
   ) = 0
   and @@in_transaction = 0 and @@autocommit = 1 and @@binlog_format <> 'STATEMENT'
