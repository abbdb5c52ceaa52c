// Runs one job without any lock: `node supervise.mjs '{"untilMs":300}' COMMAND…`. Prints what the
// tests wait for on stderr.
import { randomUUID } from 'node:crypto'
import { exitCodeOf } from '../../../dist/cli/exit-codes.js'
import { isAtTerminal } from '../../../dist/cli/supervise/at-terminal.js'
import { forwardTo, stopTogether } from '../../../dist/cli/supervise/forwarding.js'
import { Guardian } from '../../../dist/cli/supervise/guardian.js'
import { startJob } from '../../../dist/cli/supervise/job.js'
import { Keyboard } from '../../../dist/cli/supervise/keyboard.js'
import { listProcesses } from '../../../dist/cli/supervise/processes.js'
import { Signals } from '../../../dist/cli/supervise/signals.js'
import { Termination } from '../../../dist/cli/supervise/termination.js'

const [optionsText, ...command] = process.argv.slice(2)
const options = JSON.parse(optionsText)
const mark = randomUUID()
const terminal = isAtTerminal()
const say = (text) => process.stderr.write(`[${text}]\n`)
const signals = new Signals(() => {})

if (options.guardian === 'dead') {
  const start = Guardian.start
  Guardian.start = async () => {
    const guardian = await start()
    for (const { pid, ppid } of listProcesses())
      if (ppid === process.pid) process.kill(pid, 'SIGKILL')
    return guardian
  }
}

const job = await startJob({
  command,
  env: terminal ? { ...process.env, HOLDFAST_OWNER: mark } : process.env,
  terminal,
  mark,
  record: async (group) => {
    say(`group ${group.pgid}`)
    // For the race: the command is behind its gate, and we are killed or hang right here.
    if (options.hang) await new Promise(() => setInterval(() => {}, 1000))
    if (options.refuse) throw new Error('refused')
  },
  assertWanted: () => {},
  guardForMs: () => options.untilMs,
  onGuardianDeath: () => say('guardian died'),
}).catch((error) => {
  say(`failed ${error.message}`)
  process.exit(error.exitCode ?? 77)
})

const termination = new Termination(job)
const keyboard = terminal ? new Keyboard() : undefined
signals.handle(forwardTo(job, keyboard))
stopTogether(job, terminal, async () => options.mayContinue ?? true)
say(`job ${job.pid}`)
if (options.endAfterMs !== undefined)
  setTimeout(() => termination.begin('at-most', options.graceMs), options.endAfterMs)
await termination.settled()
job.close()
keyboard?.close()
const code = exitCodeOf(await job.exited)
say(`ended ${code}`)
process.exit(code)
