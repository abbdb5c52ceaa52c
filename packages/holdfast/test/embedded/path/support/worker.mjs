/**
 * A process that locks paths. It reads one command a line, as JSON, and answers each with one line.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { lockPath } from 'holdfast/embedded'

const TICK_MS = 5
const leases = new Map()
const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`)
const nowMs = () => Number(process.hrtime.bigint()) / 1e6
const sideOf = (path, side) => (side === 'read' ? lockPath(path).read : lockPath(path))

const commands = {
  async acquire({ path, side }) {
    const pauses = notePauses()
    const lease = await sideOf(path, side).acquire()
    const atMs = nowMs()
    leases.set(path, lease)
    return { token: String(lease.token), name: lease.name, atMs, pauses: pauses() }
  },
  async tryAcquire({ path, side }) {
    const lease = await sideOf(path, side).tryAcquire()
    if (lease) leases.set(path, lease)
    return { granted: lease !== undefined }
  },
  async release({ path }) {
    return { outcome: await leases.get(path).release() }
  },
  async waiters({ path }) {
    return { count: (await lockPath(path).inspect()).waiters.length }
  },
  /**
   * Takes and gives the lock for some time. A lock of the kernel on another file is the witness. It
   * belongs to the open file, so `flock` takes it for this process.
   */
  async contend({ path, witness, forMs }) {
    const untilMs = nowMs() + forMs
    let grants = 0
    let last = 0n
    while (nowMs() < untilMs) {
      const lease = await lockPath(path).acquire()
      const file = openSync(witness, 'r+')
      const { status } = spawnSync('flock', ['--nonblock', '3'], {
        stdio: ['ignore', 'ignore', 'ignore', file],
      })
      if (status !== 0) return { overlap: status ?? 'no flock' }
      if (lease.token <= last) return { overlap: `token ${lease.token} after ${last}` }
      last = lease.token
      grants += 1
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3))
      const { held } = lease
      closeSync(file)
      if (!held) return { overlap: 'a lease was lost' }
      await lease.release()
    }
    return { grants }
  },
}

/**
 * Notes when a busy machine did not let this thread run although it could. Returns the end and
 * length of each such pause. A thread that sleeps or computes counts as running: so an event loop
 * that this package blocks stays visible as a late grant.
 */
function notePauses() {
  const pauses = []
  let lastMs = notRunMs()
  const note = () => {
    const beforeMs = lastMs
    lastMs = notRunMs()
    if (lastMs > beforeMs) pauses.push({ atMs: nowMs(), ms: lastMs - beforeMs })
  }
  const timer = setInterval(note, TICK_MS)
  return () => {
    clearInterval(timer)
    note()
    return pauses
  }
}

/** For how long the main thread has waited for a processor, where the kernel shows it. */
function notRunMs() {
  if (process.platform !== 'linux') return 0
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, verb, ...rest } = JSON.parse(line)
  commands[verb](rest).then(
    (answer) => say({ id, answer }),
    (error) => say({ id, answer: { code: error?.code, message: String(error?.message) } }),
  )
})
say({ ready: true })
