/** Requests over HTTP/2, whose connection carries many of them. */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import { after } from '../../../../test/support/after.js'
import { aborted, Gate } from '../../../../test/support/gate.js'
import { startSite, type Site } from '../support/site.js'

const gate = { now: new Gate() }
let reason: Promise<unknown> | undefined
let signal: AbortSignal | undefined

async function startHttp2(): Promise<Site> {
  gate.now = new Gate()
  return startSite(
    (app) =>
      app.route({
        method: ['GET', 'POST', 'HEAD'],
        url: '/',
        async handler(request) {
          ;({ signal } = await request.lock('a'))
          reason = aborted(signal)
          request.raw.resume()
          await gate.now.pass()
          return 'done'
        },
      }),
    { fastify: { http2: true } },
  )
}

function open(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => undefined)
  after(() => session.destroy())
  return session
}

function send(
  session: ClientHttp2Session,
  method: string,
  { end = true }: { readonly end?: boolean } = {},
): ClientHttp2Stream {
  const body = method === 'POST' ? { 'content-type': 'application/json', 'content-length': 7 } : {}
  const headers = { ':path': '/', ':method': method, ...body }
  const stream = session.request(headers, { endStream: false })
  stream.on('error', () => undefined)
  if (method === 'POST') stream.write('{"x":1}')
  if (end) stream.end()
  return stream
}

test.each(['GET', 'POST', 'HEAD'])('an answered %s frees the lock', async (method) => {
  const { port, isHeld, isFree } = await startHttp2()
  const stream = send(open(port), method)
  await gate.now.reached
  expect(await isHeld()).toBe(true)
  const answered = new Promise((resolve) => stream.resume().on('end', resolve))
  gate.now.open()
  await answered
  await isFree()
  expect(signal?.aborted).toBe(false)
})

test.each([
  ['GET', 'resets the stream'],
  ['POST', 'resets the stream'],
  ['GET', 'ends the connection'],
  ['POST', 'ends the connection'],
])('a client of a %s that %s aborts the signal alone', async (method, how) => {
  const { port, isHeld, isFree } = await startHttp2()
  const session = open(port)
  const stream = send(session, method)
  await gate.now.reached
  if (how === 'resets the stream') stream.close(constants.NGHTTP2_CANCEL)
  else session.destroy()
  expect(await reason).toMatchObject({ code: 'CLIENT_DISCONNECTED' })
  expect(await isHeld()).toBe(true)
  gate.now.open()
  await isFree()
})

test('a client that does not end its own side cannot keep the lock of an answered request', async () => {
  const { port, isFree } = await startHttp2()
  const stream = send(open(port), 'GET', { end: false })
  await gate.now.reached
  gate.now.open()
  await isFree()
  expect(stream.destroyed).toBe(false)
  stream.destroy()
})

test('two requests of one connection exclude each other', async () => {
  const { port, isFree } = await startHttp2()
  const session = open(port)
  send(session, 'GET')
  await gate.now.reached
  const status = await new Promise((resolve) =>
    send(session, 'POST').on('response', (headers) => resolve(headers[':status'])),
  )
  expect(status).toBe(423)
  gate.now.open()
  await isFree()
})
