/** `lab choose` measures on: a store that is slow or away costs its own figures only. */
import { createServer, type Server, type Socket } from 'node:net'
import { startRedis } from '@holdfast/servers/redis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { measureStores, say, Visit } from '../dist/index.js'
import { LabServerError } from '../dist/services/server-error.js'

/** Long enough for a busy machine to measure the embedded store. */
const LIMIT_MS = 10_000

let visit: Visit
const ends: (() => void)[] = []

beforeEach(() => {
  visit = new Visit(() => true)
})

afterEach(async () => {
  vi.restoreAllMocks()
  await visit.end()
  for (const end of ends.splice(0)) end()
})

/** Measures a Redis that is there, or not, before the embedded store. */
async function measure(limitMs = LIMIT_MS): ReturnType<typeof measureStores> {
  const measured = await measureStores(['redis', 'embedded'], visit, () => {}, limitMs)
  expect(measured.figures.map(({ store }) => store)).toEqual(['embedded'])
  expect(measured.figures[0]?.failOverMs).toBeGreaterThan(0)
  expect(measured.unmeasured.map(({ store }) => store)).toEqual(['redis'])
  return measured
}

test('a store that never answers is given up after the limit', { timeout: 90_000 }, async () => {
  const port = await silentPort()
  vi.spyOn(visit.services, 'address').mockResolvedValue(`redis://127.0.0.1:${port}`)
  const { unmeasured } = await measure()
  expect(unmeasured[0]?.why).toEqual({ key: 'tooSlow', values: { seconds: LIMIT_MS / 1000 } })
})

test('a server that does not start costs its own figures only', { timeout: 90_000 }, async () => {
  const error = new LabServerError('notStarted', { title: 'Redis', why: 'no memory' })
  vi.spyOn(visit.services, 'address').mockRejectedValue(error)
  const { unmeasured } = await measure()
  expect(say('zh', unmeasured[0]!.why)).toMatch(/^Redis 没有启动。.*no memory$/)
})

test('a server that dies costs its own figures only', { timeout: 90_000 }, async () => {
  const server = await startRedis()
  visit.keep(() => server.stop())
  vi.spyOn(visit.services, 'address').mockResolvedValue(server.url)
  const unlessServersDie = visit.unlessServersDie.bind(visit)
  vi.spyOn(visit, 'unlessServersDie').mockImplementation((play, matters) => {
    const raced = unlessServersDie(play, matters)
    if (server.running) process.kill(server.pid, 'SIGKILL')
    return raced
  })
  const { unmeasured } = await measure()
  expect(unmeasured[0]?.why).toMatchObject({
    key: 'serverEnded',
    values: { name: 'redis-server' },
  })
})

test('nothing is measured on when the visit ends', async () => {
  const error = new LabServerError('notStarted', { title: 'Redis', why: 'interrupted' })
  vi.spyOn(visit.services, 'address').mockImplementation(async () => {
    void visit.end()
    throw error
  })
  await expect(measureStores(['redis', 'embedded'], visit, () => {})).rejects.toBe(error)
})

/** Takes connections, and answers nothing. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => sockets.add(socket))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
