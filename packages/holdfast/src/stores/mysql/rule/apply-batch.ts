/** Batches of requests: the procedure that clients call, and the general path of each request. */
import {
  COMMIT,
  ON_OPEN_TRANSACTION,
  REFUSE_OPEN_TRANSACTION,
  ROLLBACK,
} from './commit-and-rollback.js'

/**
 * Applies requests in their order, on locks whose rows are locked: all of them, or those at the
 * positions of a list. The names come without repetition. Where there is a list, the name and the
 * request at one position belong together.
 */
export const APPLY_IN_ORDER = /* sql */ `
create procedure if not exists holdfast_apply_in_order_v1(
  in a_names longtext character set utf8mb4, in a_requests longtext character set utf8mb4,
  in a_positions text character set ascii, out a_answers longtext character set utf8mb4,
  inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare v_request, v_answer longtext character set utf8mb4;
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_kept, v_times text character set ascii default '';
  declare v_index, v_place int default 0;
  declare v_count int default json_length(a_names);
  -- Without a list several requests may be for one lock, and their order counts.
  if a_positions is not null or not exists (
    select 1 from json_table(
      a_requests, '$[*]' columns (a_verb varchar(16) character set ascii path '$.verb')
    ) a where a.a_verb <> 'attempt'
  ) then
    call holdfast_keep_waiting_v1(a_requests, v_now, v_kept, v_times);
  end if;
  while v_index < v_count do
    if a_positions is null
       or find_in_set(v_index + 1, a_positions) and not find_in_set(v_index + 1, v_kept) then
      call holdfast_expire_and_promote_v1(
        unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']')))), v_now, a_channels
      );
    end if;
    set v_index = v_index + 1;
  end while;
  set a_answers = '[', v_index = 0, v_count = json_length(a_requests);
  while v_index < v_count do
    set v_place = find_in_set(v_index + 1, v_kept);
    if v_place > 0 then
      set a_answers = concat(
        a_answers, if(a_answers = '[', '', ','), '{"outcome":"waiting","holderRemainingMs":',
        substring_index(substring_index(v_times, ',', v_place), ',', -1), '}'
      );
    elseif a_positions is null or find_in_set(v_index + 1, a_positions) then
      set v_request = json_extract(a_requests, concat('$[', v_index, ']')), v_answer = null;
      case json_unquote(json_extract(v_request, '$.verb'))
        when 'attempt' then call holdfast_attempt_v1(v_request, v_now, v_answer);
        when 'withdraw' then call holdfast_withdraw_v1(v_request, v_now, v_answer, a_channels);
        when 'renew' then call holdfast_renew_v1(v_request, v_now, v_answer);
        when 'downgrade' then call holdfast_downgrade_v1(v_request, v_now, v_answer, a_channels);
        when 'adopt' then call holdfast_adopt_v1(v_request, v_now, v_answer);
        when 'takeOver' then call holdfast_adopt_v1(v_request, v_now, v_answer);
        when 'steal' then call holdfast_steal_v1(v_request, v_now, v_answer, a_channels);
        when 'guard' then call holdfast_create_guard_v1(v_request, v_answer);
        when 'inspect' then call holdfast_inspect_v1(v_request, v_now, v_answer);
      end case;
      if v_answer is null then
        signal sqlstate 'HF003' set message_text = 'a request has no answer';
      end if;
      set a_answers = concat(a_answers, if(a_answers = '[', '', ','), v_answer);
    end if;
    set v_index = v_index + 1;
  end while;
  set a_answers = concat(a_answers, ']');
end`

/**
 * Applies a batch of requests in one transaction.
 *
 * The names come as hexadecimal digits, sorted and without repetition. `a_apart` says that the
 * requests are as many as the names, in the same order. Then the fast path takes those it can, and
 * returns them as rows. The answers to the others come as JSON.
 *
 * Rows are seldom missing, so they are locked first. If one is missing the transaction is undone,
 * since a lock on a row that does not exist locks nothing. Missing rows are inserted outside of it.
 * An error undoes the batch as a whole.
 */
export const APPLY_BATCH = /* sql */ `
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
  ${ON_OPEN_TRANSACTION};
  declare exit handler for sqlexception begin ${ROLLBACK}; resignal; end;

  ${REFUSE_OPEN_TRANSACTION};
  if a_apart then
    set transaction isolation level read committed;
    start transaction;
    call holdfast_apply_fast_v1(a_requests, v_left, v_late);
    if v_late then ${ROLLBACK}; end if;
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
    ${ROLLBACK};
    set v_index = 0;
    while v_index < v_count do
      set v_name = unhex(json_unquote(json_extract(a_names, concat('$[', v_index, ']'))));
      if not exists (select 1 from holdfast_locks where name = v_name) then
        insert ignore into holdfast_locks (name) values (v_name);
      end if;
      set v_index = v_index + 1;
    end while;
    -- Without autocommit this has begun a transaction, and the next could not choose its level.
    ${COMMIT};
  end while;
  if not a_apart or v_late or v_left is not null then
    call holdfast_apply_in_order_v1(a_names, a_requests, v_left, v_answers, v_channels);
  end if;
  ${COMMIT};

  if v_channels <> '' then call holdfast_notify_clients_v1(v_channels); end if;
  if v_answers is not null then select v_answers as answers; end if;
  if rand() < 0.05 then
    call holdfast_delete_tombstones_v1(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)));
  end if;
end`
