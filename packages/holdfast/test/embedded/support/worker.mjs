/**
 * A process that uses the embedded store. It reads one command a line, as JSON, and answers each
 * with one line. `node worker.mjs DIRECTORY [seldom]`: with `seldom` its waiters ask by themselves
 * only after several seconds.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { createLocks, systemClock } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const store = embeddedStore({ directory: process.argv[2] })
// Heartbeats come after 750 to 950 ms; no other timer of a waiter does.
const seldom = {
  ...systemClock,
  timer: (delayMs, ...rest) =>
    systemClock.timer(delayMs >= 750 && delayMs <= 950 ? delayMs * 10 : delayMs, ...rest),
}
const clock = process.argv[3] === 'seldom' ? seldom : systemClock
const locks = createLocks(store, { ttlMs: 30_000, clock })
const leases = new Map()
const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`)
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

const commands = {
  async acquire({ lock, ttlMs }) {
    const lease = await locks.mutex(lock, ttlMs === undefined ? {} : { ttlMs }).acquire()
    const atMs = nowMs()
    leases.set(lock, lease)
    // The grant of a waiter lasts 3 s until its first renewal, which may come late here.
    if (clock === seldom) await lease.renew()
    return { token: String(lease.token), atMs }
  },
  async release({ lock }) {
    const atMs = nowMs()
    return { outcome: await leases.get(lock).release(), atMs }
  },
  /** Holds the lock by a bare claim that records a process group, without renewing it. */
  async hold({ claim }) {
    return store.attempt(claim, { enqueue: false, tokens: 1 }).then(({ outcome }) => ({ outcome }))
  },
  async queue({ claim }) {
    return store.attempt(claim, { enqueue: true, tokens: 1 }).then(({ outcome }) => ({ outcome }))
  },
  /**
   * Stops this process between two turns of its event loop. One that is stopped from outside may
   * keep a database locked.
   */
  async freeze() {
    process.kill(process.pid, 'SIGSTOP')
    return {}
  },
  /** Starts a command in a process group of its own, which outlives this process. */
  async child() {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
    child.unref()
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1')
    return { pgid: child.pid, startTime: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] }
  },
  /**
   * Takes and gives the lock until it is killed. The marker, made for each holding alone, is the
   * witness.
   */
  async contend({ lock, marker, log }) {
    for (;;) {
      const lease = await locks.mutex(lock).acquire()
      enter(marker)
      writeSync(openLog(log), `${lease.token}\n`)
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3))
      unlinkSync(marker)
      await lease.release()
    }
  },
}

let logFile
function openLog(path) {
  logFile ??= openSync(path, 'a')
  return logFile
}

function enter(marker) {
  for (;;) {
    try {
      const file = openSync(marker, 'wx')
      writeSync(file, String(process.pid))
      closeSync(file)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      const pid = Number(readFileSync(marker, 'utf8'))
      // Killed between making the file and writing into it, or afterwards: the marker has no owner.
      if (pid !== 0 && isWorking(pid)) {
        say({ double: [pid, process.pid] })
        process.exit(1)
      }
      unlinkSync(marker)
    }
  }
}

/** A process that is being torn down still has an entry for a moment, with the flag PF_EXITING. */
function isWorking(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] !== 'Z' && fields[0] !== 'X' && (Number(fields[6]) & 4) === 0
  } catch {
    return false
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, verb, ...rest } = JSON.parse(line)
  commands[verb](rest).then(
    (answer) => say({ id, answer }),
    (error) => say({ id, error: String(error?.stack ?? error) }),
  )
})
say({ ready: true })
