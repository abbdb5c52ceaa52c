/** Runs this program again in a network of its own, where members of a cluster can be parted. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { IN_OWN_NETWORK, layNetwork } from '@holdfast/servers/network'

/** Set in the process that runs in it, so that it does not start another. */
const MARK = 'HOLDFAST_TORTURE_NETWORK'

/**
 * Resolves to the status of the other process; to undefined in that process itself, when the
 * network is laid.
 */
export async function enterOwnNetwork(stopping: AbortSignal): Promise<number | undefined> {
  if (process.env[MARK] !== undefined) {
    layNetwork()
    return undefined
  }
  const [command, ...args] = IN_OWN_NETWORK
  const child = spawn(
    command,
    [...args, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    {
      stdio: 'inherit',
      env: { ...process.env, [MARK]: '1' },
    },
  )
  // It undoes everything itself, and a second signal does no harm where the terminal has sent one
  // to both.
  stopping.addEventListener('abort', () => child.kill('SIGINT'), { once: true })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status ?? 1
}
