/**
 * The operands of the commands about one lock. A name may also stand after `--`, so that it can
 * begin with a dash.
 */
import { UsageError } from '../cli-error.js'

interface Operands {
  readonly positionals: readonly string[]
  readonly rest: readonly string[] | undefined
}

export function operandsOf({ positionals, rest }: Operands): readonly string[] {
  return [...positionals, ...(rest ?? [])]
}

export function oneName(command: string, operands: Operands): string {
  const [name, extra] = operandsOf(operands)
  if (name === undefined) throw new UsageError(`Which lock? Write: holdfast ${command} NAME`)
  if (extra !== undefined)
    throw new UsageError(`${command} takes one lock name; ${JSON.stringify(extra)} is too much.`)
  return name
}
