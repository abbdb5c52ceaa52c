/** Runs the recipe for route handlers of Next in Next itself. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { eventually } from '@holdfast/servers/eventually'
import { freePorts } from '@holdfast/servers/ports'
import { startRedis } from '@holdfast/servers/redis'
import { ROOT } from './files.mjs'
import { install, setType } from './projects.mjs'
import { report, run } from './run.mjs'

const ENV = { NEXT_TELEMETRY_DISABLED: '1' }

/** Builds the recipe with one more route, and asks its server. */
export async function checkNext(folder, tarballs) {
  const libraries = ['next@16', 'react@19', 'react-dom@19', 'ioredis@5']
  const project = await install(folder, 'next', [tarballs.holdfast, ...libraries])
  setType(project, 'module')
  cpSync(join(ROOT, 'examples/http'), project, { recursive: true })
  cpSync(join(import.meta.dirname, 'fixtures/next'), project, { recursive: true })
  await run('npx', ['next', 'build'], { cwd: project, env: ENV })
  const redis = await startRedis()
  const [port] = await freePorts(1)
  const server = spawn(
    process.execPath,
    ['node_modules/next/dist/bin/next', 'start', '-p', String(port)],
    { cwd: project, env: { ...process.env, ...ENV, REDIS_URL: redis.url }, stdio: 'ignore' },
  )
  const ended = once(server, 'exit')
  try {
    await ask(port)
  } finally {
    server.kill('SIGKILL')
    await ended
    await redis.stop()
  }
}

async function ask(port) {
  const base = `http://127.0.0.1:${port}`
  const state = async () => (await fetch(`${base}/probe/state`)).json()
  const becomes = (what, isSo) => eventually(what, async () => isSo(await state()))
  await becomes('Next serves', () => true)

  const pay = () => fetch(`${base}/orders/7/pay`, { method: 'POST' })
  const answers = await Promise.all([pay(), pay()])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 423])
  report('Next: one request of two, and 423 for the other')

  const posting = send(port, 'POST /probe/hold', '{"x":1}')
  await becomes('the POST holds the lock', ({ holders }) => holders === 1)
  posting.destroy()
  await becomes('its signal aborts', ({ isAborted }) => isAborted)
  await becomes('its lock is free', ({ holders }) => holders === 0)
  assert.equal((await state()).heldAfterAbort, 1)
  report('Next: a client that leaves a POST')

  const streaming = send(port, 'GET /probe/stream')
  await once(streaming, 'data')
  assert.equal((await state()).holders, 1)
  streaming.destroy()
  await becomes('the lock of the stream is free', ({ holders }) => holders === 0)
  report('Next: a client that leaves a stream')
}

/** Sends a request on a connection of its own. */
function send(port, request, body = '') {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const headers = `Host: next\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  socket.write(`${request} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
  return socket
}
