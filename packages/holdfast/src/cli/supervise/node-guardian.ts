/**
 * The guardian as a program of Node, for machines without a shell that can read with a limit. Its
 * lines are those of bin/guardian.sh. It takes 40 MB and 50 ms to start; the shell takes 3 of each.
 */
import { createInterface } from 'node:readline'
import { killAll, mayOutlive, type Target } from './command-processes.js'

/** The limit of setTimeout; beyond it a timer fires at once. No wrapper is silent for that long. */
const MAX_TIMER_MS = 2 ** 31 - 1

let target: Target | undefined
let timer: NodeJS.Timeout | undefined
let orders = 0

function strike(): void {
  if (target && mayOutlive(target)) killAll(target)
}

function strikeIn(ms: number): void {
  clearTimeout(timer)
  const order = (orders += 1)
  timer = setTimeout(
    () => {
      // A guardian that was stopped finds its time over, and a later line unread.
      setImmediate(() => {
        if (order === orders) strike()
      })
    },
    Math.min(ms, MAX_TIMER_MS),
  )
}

function take([word, ...rest]: readonly string[]): void {
  const [first = '', second = '', third = '', session = '', mark = ''] = rest
  if (word === 'watch') {
    const leader = { id: Number(second), startTime: third }
    target =
      first === 'tree'
        ? { kind: 'tree', ...leader, session: Number(session), mark }
        : { kind: 'session', ...leader }
    process.stdout.write('ready\n')
  } else if (word === 'until') strikeIn(Number(first) * 1000)
  else if (word === 'done') process.exit()
}

// A wrapper that dies now does not read the answer; exactly then the guardian is needed.
process.stdout.on('error', () => {})
createInterface({ input: process.stdin })
  .on('line', (line) => take(line.split(' ')))
  .on('close', () => {
    strike()
    process.exit()
  })
