/** Programs in a mount namespace of their own, which only root can start. */
import { spawnSync } from 'node:child_process'

export const canMount =
  process.platform === 'linux' && spawnSync('unshare', ['--mount', 'true']).status === 0

if (!canMount) console.log('left out: mounts, which only root can make')

/** Returns what runs a program there after commands of the shell, which have these arguments. */
export function mounted(commands: string, ...args: readonly string[]): readonly string[] {
  const script = `${commands}\nshift ${args.length}\nexec "$@"`
  return ['unshare', '--mount', 'sh', '-e', '-c', script, 'sh', ...args]
}
