/** The operands of the commands. A name may stand after `--`, so that it can begin with a dash. */
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

export function oneHandle(command: string, operands: Operands): string {
  const [handle, extra] = operandsOf(operands)
  if (handle !== undefined && extra === undefined) return handle
  throw new UsageError(`Write: holdfast ${command} HANDLE. \`holdfast acquire\` prints a handle.`)
}

/** @throws UsageError when there is an operand */
export function noOperand(command: string, operands: Operands): void {
  const [extra] = operandsOf(operands)
  if (extra !== undefined)
    throw new UsageError(`${command} takes no operand; ${JSON.stringify(extra)} is too much.`)
}

/**
 * Returns the full name of a lock, as the store and every listing have it. `createLocks` of the
 * library joins a namespace and a name in the same way.
 */
export function inNamespace(namespace: string | undefined, name: string): string {
  if (namespace === undefined) return name
  if (namespace === '') throw new UsageError('--namespace is empty. Leave it out, or name one.')
  // An empty name stays empty, so that it is refused as such.
  return name === '' ? '' : `${namespace}:${name}`
}

/** Returns the beginning of the full names to list. */
export function prefixOf(operands: readonly string[], namespace: string | undefined): string {
  const [prefix = '', extra] = operands
  if (extra !== undefined)
    throw new UsageError(`Write one prefix; ${JSON.stringify(extra)} is too much.`)
  if (namespace === '') throw new UsageError('--namespace is empty. Leave it out, or name one.')
  return namespace === undefined ? prefix : `${namespace}:${prefix}`
}
