-- Releases a lock that its only holder has, as a statement of its own. See plain-attempt.sql. It
-- leaves no tombstone: it is only sent for a claim of which nothing can arrive any more.
--
-- Until the next grant the row shows this to a release that is repeated: `sole_ttl_ms` is minus the
-- time until which the claim is remembered.
--
-- Input   ttlMs, lock as hexadecimal digits, and id
-- Output  one changed row, or none
update holdfast_locks
   set sole_expires_us = 0,
       sole_ttl_ms = -(
         timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) + cast(round(? * 1000) as signed)
       )
 where name = unhex(?) and not listed and sole_id = convert(? using ascii) collate ascii_bin
   and sole_expires_us > timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
   and @@in_transaction = 0 and @@autocommit = 1 and @@binlog_format <> 'STATEMENT'
