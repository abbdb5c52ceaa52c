/** The stored procedures by name, and those of earlier versions. */
import { createHash } from 'node:crypto'
import { RULE } from './rule/index.js'

export interface Routine {
  /** With the prefix `holdfast_`, which the schema replaces by that of the user. */
  readonly name: string
  /** The statement that creates it where it is missing. */
  readonly sql: string
  /**
   * A digest of the statement. `facts` keeps it, so that a migration knows which procedures have
   * another text than in its version.
   */
  readonly digest: string
}

export const ROUTINES: readonly Routine[] = RULE.map((sql) => ({
  name: /^\s*create procedure if not exists (\w+)/.exec(sql)?.[1] ?? '',
  sql,
  digest: createHash('sha256').update(sql).digest('hex'),
}))

/**
 * The procedures of earlier versions, which the migration drops. A process of such a version
 * reports `STORE_CONFIG` then, or migrates again if it may. The tables are the same, so it still
 * excludes the processes of this version.
 */
export const RETIRED: readonly string[] = [
  ...['turn_1', 'turn_2', 'one_1', 'one_2', 'plain_1', 'answer_1', 'answer_2'],
  ...['attempt_1', 'attempt_2', 'renew_1', 'withdraw_1', 'downgrade_1', 'steal_1', 'steal_2'],
  ...['inspect_1', 'settle_1', 'hold_1', 'pass_1', 'guard_1', 'promote_1', 'purge_1'],
  ...['ring_1', 'sweep_1', 'names_1'],
].map((name) => `holdfast_${name}`)

/** Returns the name of the row of `facts` that keeps the digest of a procedure. */
export function factOf({ name }: Pick<Routine, 'name'>): string {
  return name.replace('holdfast_', 'procedure ')
}

export function dropRoutine(name: string): string {
  return `drop procedure if exists ${name}`
}

/**
 * Returns the statement that notes the text of a procedure in `facts`. To update a row takes a
 * right that the first migration does not need.
 */
export function noteRoutine(routine: Routine, isNew: boolean): string {
  const [name, value] = [`'${factOf(routine)}'`, `'${routine.digest}'`]
  return isNew
    ? `insert into holdfast_facts (name, value) values (${name}, ${value})`
    : `update holdfast_facts set value = ${value} where name = ${name}`
}
