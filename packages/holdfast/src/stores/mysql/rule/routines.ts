/** The stored procedures by name. */
import { createHash } from 'node:crypto'
import { routines } from './scripts.generated.js'

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

export const ROUTINES: readonly Routine[] = routines.map((sql) => ({
  name: /^create procedure if not exists (\w+)/.exec(sql)?.[1] ?? '',
  sql,
  digest: createHash('sha256').update(sql).digest('hex'),
}))

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
