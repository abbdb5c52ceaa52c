-- Inserts the guard of a held lease. The next grant has to pass it.
--
-- Input   a_request  lock, id
-- Output  a_answer  done: whether the claim holds the lock
create procedure if not exists holdfast_create_guard_v1(
  in a_request longtext character set utf8mb4, out a_answer longtext character set utf8mb4
)
modifies sql data sql security invoker
begin
  declare a_name varbinary(512) default unhex(json_unquote(json_extract(a_request, '$.lock')));
  declare a_id varchar(64) character set ascii
    default json_unquote(json_extract(a_request, '$.id'));
  declare v_token bigint default (
    select token from holdfast_holders where name = a_name and id = a_id and not stolen
  );
  declare v_held boolean default v_token is not null;
  -- A second insertion would wait for the transaction that has the guard.
  if v_held and not exists (select 1 from holdfast_guards where name = a_name) then
    insert into holdfast_guards (name, token) values (a_name, v_token);
  end if;
  if v_held then update holdfast_locks set guarded = true where name = a_name; end if;
  set a_answer = json_object('done', v_held);
end//
