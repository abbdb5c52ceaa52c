/**
 * The functions of earlier versions, which the migration drops. A process of such a version reports
 * `STORE_CONFIG` then, or migrates again if it may. The tables are the same, so it still
 * excludes the processes of this version.
 */
const OLD_FUNCTIONS = [
  'turn_1',
  'plain_1',
  'attempt_1',
  'held_1',
  'renew_1',
  'withdraw_1',
  'downgrade_1',
  'steal_1',
  'inspect_1',
  'settle_1',
  'bury_1',
  'hold_1',
  'end_idle_1',
  'pass_1',
  'guard_1',
  'promote_1',
  'purge_1',
]

/** A loop, since `drop … if exists` sends a notice for each function that is missing. */
export const DROP_OLD_FUNCTIONS = /* sql */ `
do $retired$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = HOLDFAST_TEXT and p.proname in (${OLD_FUNCTIONS.map((name) => `'${name}'`).join(', ')})
  loop
    execute format('drop function %s', v_function);
  end loop;
end $retired$;
`
