-- Makes a reader of a writer, and grants to the readers that fit then.
--
-- Input   a_request  lock, id
--         a_now  the time of the batch
-- Output  a_answer  done: whether the claim holds a readers-writer lock
--         a_channels  with the channels of the clients to wake, each behind a comma
create procedure if not exists holdfast_downgrade_v1(
  in a_request longtext character set utf8mb4, in a_now bigint,
  out a_answer longtext character set utf8mb4,
  inout a_channels longtext character set ascii
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare v_held boolean default exists (
    select 1 from holdfast_holders h join holdfast_locks l on l.name = h.name
     where h.name = a_name and h.id = a_id and l.kind = 'readWriteLock'
  );
  if v_held then
    update holdfast_holders set weight = 1 where name = a_name and id = a_id;
    call holdfast_promote_waiters_v1(a_name, a_now, a_channels);
  end if;
  set a_answer = json_object('done', v_held);
end//
