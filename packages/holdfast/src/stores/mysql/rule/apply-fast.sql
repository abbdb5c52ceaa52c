-- The fast path for batches: attempts on free locks, and renewals and releases by the only holder
-- of a lock without waiters. It runs in a transaction that apply-batch.sql begins and ends, and
-- locks all rows in the order of the requests.
--
-- Such a holder is stored in the row of its lock (`sole_…`; `sole_expires_us` is 0 without one). So
-- one statement can decide: it waits for the row, and judges what the row contains then. `listed`
-- says that the lock has rows in the tables of holders or waiters. Such a lock takes the general
-- path. It first turns a sole holder into a row of its own (expire-and-promote.sql), and gives the
-- same answers.
--
-- The time is read before the statement waits for the row. That is safe. This path never treats a
-- lease as expired. A new lease ends too soon rather than too late. A renewal only succeeds for the
-- holder in the row, in the order of their times.
--
-- The first statement decides each request and applies it. It inserts a row that is missing, and
-- locks a row that it leaves as it is. `last_batch` marks the rows of served requests. Requests
-- come as rows. Only attempts have a weight, and only withdrawals have a TTL of 0. Three conditions
-- return:
-- - is granted: `values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0`
-- - is the holder: `values(sole_weight) = 0 and not listed and sole_id = values(sole_id) and
--   sole_expires_us > v_now`
-- - is renewed: is the holder, `and values(sole_ttl_ms) > 0`, and no later renewal overtook it,
--   which would move the end back: `sole_expires_us - round(sole_ttl_ms * 1000) <= v_now`
--
-- The order of the assignments matters. An assignment sees the new values of columns that were
-- assigned before it, and the conditions read `sole_expires_us` and `sole_ttl_ms`. So these two
-- come last, behind `last_batch`, by which they know whether the request is served. `sole_id` only
-- changes with a grant, and after a grant no claim of the batch is the holder.
--
-- Separate statements for attempts, renewals and withdrawals would not depend on an order. They
-- were measured: the server then needs 15 to 50% more time for each pair; docs/internals/design.md.
--
-- Long text makes the temporary table of the requests a slow one, so most statements read them
-- without it. The positions are put together one by one. The session limits the length of an
-- aggregated list, and would cut it silently, even inside a number. Answers would then reach the
-- wrong requests.
--
-- Input   a_requests  requests on different locks
-- Output  rows  position from 1 and token of each served request
--         a_left  the positions of the others with commas between them, or null
--         a_late  whether an attempt came after its own withdrawal: then the caller undoes all
create procedure if not exists holdfast_apply_fast_v1(
  in a_requests longtext character set utf8mb4, out a_left text character set ascii,
  out a_late boolean
)
modifies sql data sql security invoker
begin
  declare v_now bigint default timestampdiff(microsecond, '1970-01-01', utc_timestamp(6));
  declare v_batch bigint unsigned default uuid_short();
  declare v_changed, v_position int;
  declare v_none boolean default false;
  declare c_left cursor for
    select a.a_position
      from json_table(a_requests, '$[*]' columns (
        a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
        a_lock varchar(1024) character set ascii path '$.lock',
        a_id varchar(64) character set ascii path '$.id', a_ttl_ms double path '$.ttlMs'
      )) a
      straight_join holdfast_locks l on l.name = unhex(a.a_lock)
     where l.last_batch <> v_batch;
  declare continue handler for not found set v_none = true;
  insert into holdfast_locks (
    name, kind, capacity, last_token, sole_id, sole_owner, sole_weight, sole_tokens,
    sole_granted_us, sole_ttl_ms, sole_expires_us, last_batch
  )
  select unhex(a.a_lock), coalesce(a.a_kind, 'mutex'), coalesce(a.a_capacity, 1),
         if(a.a_verb = 'attempt' and a.a_weight <= a.a_capacity, v_now + a.a_tokens - 1, 0),
         if(a.a_verb in ('attempt', 'renew', 'withdraw'), a.a_id, null), a.a_owner,
         if(a.a_verb = 'attempt' and a.a_weight <= a.a_capacity, a.a_weight, 0), a.a_tokens, v_now,
         if(a.a_verb = 'withdraw', 0, a.a_ttl_ms),
         if(a.a_verb = 'attempt' and a.a_weight <= a.a_capacity, v_now + round(a.a_ttl_ms * 1000), 0),
         if(a.a_verb = 'attempt' and a.a_weight <= a.a_capacity, v_batch, 0)
    from json_table(a_requests, '$[*]' columns (
      a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
      a_lock varchar(1024) character set ascii path '$.lock',
      a_id varchar(64) character set ascii path '$.id', a_ttl_ms double path '$.ttlMs',
      a_owner longtext character set utf8mb4 path '$.owner',
      a_kind varchar(16) character set utf8mb4 path '$.kind', a_capacity int path '$.capacity',
      a_weight int path '$.weight', a_tokens int path '$.tokens'
    )) a
  on duplicate key update
    kind = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(kind), kind
    ),
    capacity = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(capacity), capacity
    ),
    sole_weight = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(sole_weight), sole_weight
    ),
    sole_tokens = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(sole_tokens), sole_tokens
    ),
    sole_granted_us = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(sole_granted_us), sole_granted_us
    ),
    sole_id = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      values(sole_id), sole_id
    ),
    last_token = if(
      values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0,
      greatest(last_token + 1, v_now) + values(sole_tokens) - 1, last_token
    ),
    sole_owner = if(
      (values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0)
      or (values(sole_weight) = 0 and not listed and sole_id = values(sole_id)
          and sole_expires_us > v_now and values(sole_ttl_ms) > 0
          and sole_expires_us - round(sole_ttl_ms * 1000) <= v_now),
      values(sole_owner), sole_owner
    ),
    last_batch = if(
      (values(sole_weight) > 0 and not listed and not guarded and sole_expires_us = 0)
      or (values(sole_weight) = 0 and not listed and sole_id = values(sole_id)
          and sole_expires_us > v_now
          and (values(sole_ttl_ms) = 0 or sole_expires_us - round(sole_ttl_ms * 1000) <= v_now)),
      v_batch, last_batch
    ),
    sole_expires_us = case
      when last_batch <> v_batch then sole_expires_us
      when values(sole_weight) > 0 then values(sole_expires_us)
      when values(sole_ttl_ms) > 0 then v_now + round(values(sole_ttl_ms) * 1000)
      else 0
    end,
    sole_ttl_ms = if(
      last_batch = v_batch and values(sole_ttl_ms) > 0, values(sole_ttl_ms), sole_ttl_ms
    );
  set v_changed = row_count();
  set a_late = locate('"attempt"', a_requests) and exists (
    select 1
      from json_table(a_requests, '$[*]' columns (
        a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
        a_lock varchar(1024) character set ascii path '$.lock',
        a_id varchar(64) character set ascii path '$.id', a_ttl_ms double path '$.ttlMs'
      )) a
      straight_join holdfast_tombstones t on t.name = unhex(a.a_lock) and t.id = a.a_id
     where a.a_verb = 'attempt' and t.until_us > v_now
  );
  if not a_late then
    if locate('"withdraw"', a_requests) then
      replace into holdfast_tombstones (name, id, until_us, outcome)
      select l.name, a.a_id, v_now + round(a.a_ttl_ms * 1000), 'released'
        from json_table(a_requests, '$[*]' columns (
          a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
          a_lock varchar(1024) character set ascii path '$.lock',
          a_id varchar(64) character set ascii path '$.id', a_ttl_ms double path '$.ttlMs'
        )) a
        straight_join holdfast_locks l on l.name = unhex(a.a_lock)
       where a.a_verb = 'withdraw' and l.last_batch = v_batch;
    end if;
    -- A changed row counts twice. If all rows have changed, no request is left.
    if v_changed < 2 * json_length(a_requests) then
      open c_left;
      fetch c_left into v_position;
      while not v_none do
        set a_left = concat_ws(',', a_left, v_position);
        fetch c_left into v_position;
      end while;
      close c_left;
    end if;
    select a.a_position as position, cast(l.last_token - l.sole_tokens + 1 as char) as token
      from json_table(a_requests, '$[*]' columns (
        a_position for ordinality, a_verb varchar(16) character set ascii path '$.verb',
        a_lock varchar(1024) character set ascii path '$.lock',
        a_id varchar(64) character set ascii path '$.id', a_ttl_ms double path '$.ttlMs'
      )) a
      straight_join holdfast_locks l on l.name = unhex(a.a_lock)
     where l.last_batch = v_batch;
  end if;
end//
