-- Applies a batch of requests in one transaction.
--
-- Where the requests are apart, the fast path takes those it can. Rows are seldom missing, so they
-- are locked first. If one is missing the transaction is undone, since a lock on a row that does
-- not exist locks nothing. Missing rows are inserted outside of it. An error undoes the batch as a
-- whole.
--
-- Input   a_names  the locks, as hexadecimal digits, sorted and without repetition
--         a_requests  the requests
--         a_apart  whether the requests are as many as the names, in the same order
-- Output  rows  of apply-fast.sql, then one row with the answers to the other requests, as JSON
create procedure if not exists holdfast_apply_batch_v1(
  in a_names longtext character set utf8mb4, in a_requests longtext character set utf8mb4,
  in a_apart boolean
)
modifies sql data sql security invoker
begin
  declare v_name varbinary(512);
  declare v_answers longtext character set utf8mb4;
  declare v_channels longtext character set ascii default '';
  declare v_left text character set ascii;
  declare v_late boolean default false;
  declare v_index, v_locked int default 0;
  declare v_count int default json_length(a_names);
  declare exit handler for 1568 resignal;
  declare exit handler for sqlexception begin rollback and no chain no release; resignal; end;

  set transaction isolation level read committed;
  if a_apart then
    set transaction isolation level read committed;
    start transaction;
    call holdfast_apply_fast_v1(a_requests, v_left, v_late);
    if v_late then rollback and no chain no release; end if;
  end if;
  lock_rows: while not a_apart or v_late do
    set transaction isolation level read committed;
    start transaction;
    set v_index = 0, v_locked = 0;
    while v_index < v_count do
      set v_name = unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))));
      select count(*) + v_locked into v_locked from holdfast_locks where name = v_name for update;
      set v_index = v_index + 1;
    end while;
    if v_locked = v_count then leave lock_rows; end if;
    rollback and no chain no release;
    set v_index = 0;
    while v_index < v_count do
      set v_name = unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))));
      if not exists (select 1 from holdfast_locks where name = v_name) then
        insert ignore into holdfast_locks (name) values (v_name);
      end if;
      set v_index = v_index + 1;
    end while;
    -- Without autocommit this has begun a transaction, and the next could not choose its level.
    commit and no chain no release;
  end while;
  if not a_apart or v_late or v_left is not null then
    call holdfast_apply_in_order_v1(a_names, a_requests, v_left, v_answers, v_channels);
  end if;
  commit and no chain no release;

  if v_channels <> '' then call holdfast_notify_clients_v1(v_channels); end if;
  if v_answers is not null then select v_answers as answers; end if;
  -- The names are hexadecimal digits: these are those of `@tick:`.
  if a_names like '%407469636B3A%' and a_requests like '%"attempt"%' then
    set v_index = 0;
    while v_index < v_count do
      call holdfast_forget_slots_v1(
        unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']')))),
        timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))
      );
      set v_index = v_index + 1;
    end while;
  end if;
  if rand() < 0.05 then
    call holdfast_delete_tombstones_v1(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)));
  end if;
end//
