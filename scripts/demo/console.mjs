/**
 * Shows the console over locks with trouble, until Ctrl-C. It needs no server:
 *
 *     npm run demo:console
 *
 * Two workers contend for locks and for the leadership of an election. A nightly export keeps its
 * lock for too long. Two transfers wait for each other, and one of their processes is stopped.
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const BIN = join(import.meta.dirname, '../../packages/holdfast/bin/holdfast.cjs')
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP']
const POLL_MS = 100

/** @typedef {import('node:child_process').ChildProcess} Child */

const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
const store = join(folder, 'store')
const ending = new AbortController()
const { signal } = ending
/** @type {Set<Child>} */
const children = new Set()

for (const name of ENDING) process.on(name, () => ending.abort())
try {
  await Promise.race([run(), once(signal, 'abort')])
} catch (error) {
  if (!signal.aborted) console.error(error)
  process.exitCode = signal.aborted ? 0 : 1
} finally {
  ending.abort()
  await endAll()
  rmSync(folder, { recursive: true, force: true })
}

async function run() {
  const page = consoleOf()
  const address = addressOf(page)
  const ended = once(page, 'exit', { signal })
  await Promise.race([ended, startWork(page)])
  console.log(`Open ${await address}`)
  console.log('Ctrl-C ends the demo.')
  const [code] = await ended
  throw new Error(`The console ended with ${code}.`)
}

async function startWork(/** @type {Child} */ page) {
  for (const number of [1, 2]) start('worker', `worker ${number}`)
  const holder = start('holder', 'nightly export', 'report:daily')
  await startDeadlock((stopped) => holder.send([page.pid, stopped.pid]))
}

/** Starts the command as an operator does. */
function consoleOf() {
  const args = ['console', '--store', `embedded:${store}`, '--allow-steal']
  // What this shell is set up with is about other locks.
  const env = { ...process.env, HOLDFAST_CONFIG: '' }
  return keep(
    spawn(process.execPath, [BIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
  )
}

/** Resolves to the address that the command prints. */
async function addressOf(/** @type {Child} */ { stdout }) {
  let text = ''
  for await (const part of stdout.setEncoding('utf8')) {
    text += part
    if (text.includes('\n')) break
  }
  return text.trim()
}

/**
 * Starts a process of the demo. The user may end one: the page says which.
 * @param {string} role @param {string} label @param {readonly string[]} locks
 */
function start(role, label, ...locks) {
  const child = keep(fork(join(import.meta.dirname, 'process.mjs'), [store, role, label, ...locks]))
  child.once('exit', () => signal.aborted || console.log(`${label} (pid ${child.pid}) has ended.`))
  return child
}

function keep(/** @type {Child} */ child) {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/**
 * Two transfers take the same accounts in opposite orders. The first one is stopped while it waits.
 * A deadlock of running processes ends at once, since one of the waits fails.
 */
async function startDeadlock(/** @type {(child: Child) => void} */ beforeStop) {
  const stopped = start('transfer', 'transfer 1 to 2', 'account:1', 'account:2')
  const other = start('transfer', 'transfer 2 to 1', 'account:2', 'account:1')
  for (const child of [stopped, other]) await once(child, 'message', { signal })
  stopped.send('go')
  const locks = createLocks(embeddedStore({ directory: store }), { label: 'demo' })
  try {
    while (!(await waits(locks, 'account:1'))) await pause()
  } finally {
    await locks.close()
  }
  beforeStop(stopped)
  stopped.kill('SIGSTOP')
  other.send('go')
}

/** Whether the holder of a lock has noted that it waits for another one. */
async function waits(/** @type {import('holdfast').Locks} */ locks, /** @type {string} */ name) {
  const { locks: found } = await locks.inspect({ prefix: name })
  return found.some(({ holders }) => holders.some(({ owner }) => owner.waitsFor !== undefined))
}

async function pause() {
  signal.throwIfAborted()
  await new Promise((resolve) => void setTimeout(resolve, POLL_MS))
}

/** Ends all processes. One that is stopped takes no other signal than this one. */
async function endAll() {
  const ended = [...children].map((child) => once(child, 'exit'))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ended)
}
