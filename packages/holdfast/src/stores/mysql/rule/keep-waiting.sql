-- Answers the attempts of claims that wait on locks where nothing else has to be done, on locked
-- rows. It gives the same answers as the general path, which takes ten times as long for each. A
-- heartbeat that it leaves takes the general path. Why the lists are put together one by one: see
-- apply-fast.sql.
--
-- On such a lock an attempt of a waiter changes only that waiter. No holder has expired, no guard
-- has to be passed, and the first waiter lives (`having`). It does not fit then: each step that
-- makes room for the first waiter also grants to it.
--
-- Input   a_requests  the requests of the batch
--         a_now  the time of the batch
-- Output  a_kept  the positions of the answered requests, with commas between them
--         a_times  for each of them the milliseconds after which the next holder expires
create procedure if not exists holdfast_keep_waiting_v1(
  in a_requests longtext character set utf8mb4, in a_now bigint,
  out a_kept text character set ascii, out a_times text character set ascii
)
modifies sql data sql security invoker
begin
  declare v_position int;
  declare v_next_us, v_first_us bigint;
  declare v_none boolean default false;
  declare c_quiet cursor for
    select a.a_position,
           (select min(h.expires_us) from holdfast_holders h where h.name = l.name) as next_us,
           (select f.seen_us + round(f.heartbeat_ms * 3000)
              from holdfast_waiters f where f.name = l.name order by f.seq limit 1) as first_us
      from json_table(a_requests, '$[*]' columns (
        a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
        a_lock varchar(1024) character set ascii path '$.lock',
        a_id varchar(64) character set ascii path '$.id'
      )) a
      straight_join holdfast_locks l on l.name = unhex(a.a_lock)
      straight_join holdfast_waiters w on w.name = l.name and w.id = a.a_id
     where a.a_verb = 'attempt' and not l.guarded and l.sole_expires_us = 0
    having next_us > a_now and first_us > a_now;
  declare continue handler for not found set v_none = true;
  set a_kept = '';
  open c_quiet;
  fetch c_quiet into v_position, v_next_us, v_first_us;
  while not v_none do
    set a_kept = concat(a_kept, if(a_kept = '', '', ','), v_position),
        a_times = concat_ws(',', a_times, (v_next_us - a_now) / 1000);
    fetch c_quiet into v_position, v_next_us, v_first_us;
  end while;
  close c_quiet;
  if a_kept <> '' then
    update json_table(a_requests, '$[*]' columns (
        a_position for ordinality, a_lock varchar(1024) character set ascii path '$.lock',
        a_id varchar(64) character set ascii path '$.id',
        a_owner longtext character set utf8mb4 path '$.owner', a_tokens int path '$.tokens',
        a_channel varchar(64) character set ascii path '$.channel'
      )) a
      straight_join holdfast_waiters w on w.name = unhex(a.a_lock) and w.id = a.a_id
       set w.seen_us = a_now, w.owner = a.a_owner, w.tokens = a.a_tokens, w.channel = a.a_channel
     where find_in_set(a.a_position, a_kept);
  end if;
end//
