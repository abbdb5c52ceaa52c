-- Wakes clients. Each client sleeps in a statement that contains its channel, and this procedure
-- interrupts that statement. A lock for each channel makes sure that no two sessions interrupt it
-- at once, which MariaDB can take two seconds for; see wake-ups.ts. The second session
-- finds the statement interrupted and leaves it. Text without a character set of its own would take
-- that of the database, where a comma may have two bytes or four.
--
-- Input   a_channels  the channels of the clients, each behind a comma
-- Output  none
create procedure if not exists holdfast_notify_clients_v1(
  in a_channels longtext character set ascii
)
reads sql data sql security invoker
begin
  declare v_session bigint;
  declare v_rest longtext character set ascii default substring(a_channels, 2);
  declare v_channel varchar(64) character set ascii;
  -- A client that has stopped sleeping asks again by itself.
  declare continue handler for sqlexception begin end;
  while v_rest <> '' do
    set v_channel = substring_index(v_rest, ',', 1);
    set v_rest = substring(v_rest, char_length(v_channel) + 2);
    if get_lock(concat('holdfast_', v_channel), 1) then
      select max(id) into v_session from information_schema.processlist
       where command = 'Query' and info like concat('select sleep%', v_channel, '%');
      if v_session is not null then kill query v_session; end if;
      do release_lock(concat('holdfast_', v_channel));
    end if;
  end while;
end//
