/**
 * Finds the command on PATH as execvp(3) does, so that a misspelt one fails before the wait for the
 * lock, with 127 or 126.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CliError } from '../cli-error.js'

/** The PATH for an environment without one. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

export function assertStartable(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
): void {
  const candidates = command.includes('/')
    ? [command]
    : onPath(command, env['PATH'] ?? DEFAULT_PATH)
  let denied: string | undefined
  for (const candidate of candidates) {
    const verdict = judge(candidate)
    if (verdict === 'startable') return
    if (verdict !== 'absent') denied ??= verdict
  }
  if (denied !== undefined) {
    throw new CliError(`${shown(command)} cannot be executed: ${denied}.`, 'NOT_EXECUTABLE')
  }
  const where = command.includes('/')
    ? 'There is no such file'
    : 'It is in none of the folders of PATH'
  throw new CliError(`${shown(command)} was not found. ${where}.`, 'NOT_FOUND')
}

function onPath(command: string, path: string): string[] {
  if (command === '') return []
  // An empty part of PATH means the current folder.
  return path.split(delimiter).map((folder) => join(folder === '' ? '.' : folder, command))
}

function judge(file: string): string {
  try {
    // Most candidates are absent; an error for each of them would take long to make.
    const found = statSync(file, { throwIfNoEntry: false })
    if (found === undefined) return 'absent'
    if (found.isDirectory()) return 'it is a folder'
    accessSync(file, constants.X_OK)
    return 'startable'
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return 'absent'
    return code === 'EACCES'
      ? 'permission denied (is the execute bit set?)'
      : `the system answers ${code}`
  }
}

function shown(command: string): string {
  return JSON.stringify(command.length > 80 ? `${command.slice(0, 80)}…` : command)
}
