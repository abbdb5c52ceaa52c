/** The processor time of a process by the scheduler's nanoseconds, which tools round to 10 ms. */
import { readdirSync, readFileSync } from 'node:fs'

/** Returns what all threads of a process have used, in milliseconds. */
export function processorMs(pid: number): number {
  let sum = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [used] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
    sum += Number(used) / 1e6
  }
  return sum
}
