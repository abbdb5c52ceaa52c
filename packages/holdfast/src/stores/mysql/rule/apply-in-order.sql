-- Applies requests in their order, on locks whose rows are locked: all of them, or those at the
-- positions of a list.
--
-- Input   a_names  the locks, without repetition, as hexadecimal digits
--         a_requests  the requests
--         a_positions  null, or a list of positions from 1; the name and the request at one
--         position then belong together
-- Output  a_answers  the answers to these requests, as a JSON list
--         a_channels  with the channels of the clients to wake, each behind a comma
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
        when 'stealClaim' then call holdfast_steal_v1(v_request, v_now, v_answer, a_channels);
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
end//
