/**
 * Networks that lie, through each client library: TLS to a plain port, answers that never come, and
 * half answers.
 */
import { createLocks } from 'holdfast'
import { redisStore, type RedisClient } from 'holdfast/redis'
import { describe, expect, test } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import { requestsOf } from '../../dist/stores/redis/verbs/requests.js'
import { RedisVoter } from '../../dist/stores/redlock/nodes/redis-voter.js'
import {
  after,
  closing,
  connectTo,
  LIBRARIES,
  makeClaim,
  openStore,
  startServer,
  take,
  TRY,
  type Library,
} from './support/world.js'

async function startProxy(server: RedisServer): Promise<Proxy> {
  const proxy = await Proxy.to(server.port)
  after(() => proxy.close())
  return proxy
}

function openThrough(proxy: Proxy, library: Library) {
  return openStore({ url: `redis://127.0.0.1:${proxy.port}` }, library, { requestTimeoutMs: 1000 })
}

/** Does something when a client is about to send a command with a word, which waits for it. */
function onSending(client: RedisClient, word: string, act: () => void | Promise<void>): void {
  const name = 'call' in client ? 'call' : 'sendCommand'
  const send = Reflect.get(client, name) as (...args: unknown[]) => unknown
  Reflect.set(client, name, (...args: unknown[]) => {
    const acting = args.flat().includes(word) ? act() : undefined
    return acting ? acting.then(() => send.apply(client, args)) : send.apply(client, args)
  })
}

for (const library of ['ioredis6', 'redis6'] as const) {
  test.each([true, false])(
    `through ${library}: a steal that is sent again ends no later grant, with now: %s`,
    async (now) => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const client = connectTo(`redis://127.0.0.1:${proxy.port}`, library)
      const [thief, others] = [closing(redisStore({ client })), openStore(server)]
      const [former, next] = [makeClaim('lock'), makeClaim('lock')]
      await take(others, former)
      // The scripts are known, and so a steal is one command and its answer.
      await thief.inspect(['lock'])
      let steals = 0
      onSending(client, 'steal', () => {
        steals += 1
        if (steals > 1) return
        proxy.faults.cutReplyAt = 0
        proxy.faults.refuse = true
      })
      const stealing = thief.steal('lock', { now })
      await eventually('it is stolen', async () => {
        const [info] = await others.inspect(['lock'])
        return info?.holders.every(({ stolen }) => stolen) ?? true
      })
      await others.withdraw(former)
      await take(others, next)
      proxy.heal()
      expect((await stealing).holders).toBe(1)
      expect(await others.renew([next])).toEqual([{ outcome: 'renewed' }])
      // One that begins now means it.
      expect((await thief.steal('lock', { now })).holders).toBe(1)
      expect(await others.renew([next])).toMatchObject([{ outcome: 'lost' }])
    },
  )

  test.each([true, false])(
    `through ${library}: a steal ends a lease that another claim adopts meanwhile, with now: %s`,
    async (now) => {
      const server = await startServer()
      const client = connectTo(server.url, library)
      const [thief, others] = [closing(redisStore({ client })), openStore(server)]
      const [from, to] = [makeClaim('lock'), makeClaim('lock')]
      const { token } = await take(others, from)
      onSending(client, 'steal', async () => {
        const adopted = await others.adopt?.({ from, token, to, detached: false })
        expect(adopted).toMatchObject({ outcome: 'granted' })
      })
      expect((await thief.steal('lock', { now })).holders).toBe(1)
      expect(await others.renew([to])).toMatchObject([{ outcome: 'lost' }])
    },
  )
}

for (const library of LIBRARIES) {
  describe(`through ${library}`, () => {
    test('TLS to a port that speaks none is reported in time', async () => {
      const server = await startServer()
      const client = connectTo(`rediss://127.0.0.1:${server.port}`, library)
      const store = closing(redisStore({ client, requestTimeoutMs: 1500 }))
      const startMs = performance.now()
      const error = await Promise.resolve(store.attempt(makeClaim('lock'), TRY)).catch(
        (caught: unknown) => caught,
      )
      expect(error).toMatchObject({
        name: 'StoreUnavailableError',
        code: 'STORE_UNAVAILABLE',
        lock: 'lock',
      })
      expect(performance.now() - startMs).toBeLessThan(3000)
    })

    test('a grant whose answer was dropped is found by its claim, and withdrawn', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const [store, other] = [openThrough(proxy, library), openStore(server)]
      await take(store, makeClaim('warm'))
      const claim = makeClaim('lock')
      proxy.faults.dropReplies = true
      await expect(store.attempt(claim, TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect((await other.attempt(makeClaim('lock'), TRY)).outcome).toBe('busy')
      proxy.heal()
      proxy.reset()
      await eventually('it is withdrawn', () =>
        Promise.resolve(store.withdraw(claim)).then(
          (outcome) => outcome === 'released',
          () => false,
        ),
      )
      await take(other, makeClaim('lock'))
      // The lost attempt might still arrive: it is refused.
      expect((await store.attempt(claim, TRY)).outcome).toBe('withdrawn')
    })

    test('an acquire whose answer was dropped leaves no ghost', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const locks = createLocks(openThrough(proxy, library))
      const others = createLocks(openStore(server))
      await (await locks.mutex('lock').acquire()).release()
      proxy.faults.dropReplies = true
      await expect(locks.mutex('lock').acquire({ waitMs: 1500 })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })
      proxy.heal()
      proxy.reset()
      const startMs = performance.now()
      const lease = await others.mutex('lock').acquire({ waitMs: 10_000 })
      // The TTL is thirty seconds.
      expect(performance.now() - startMs).toBeLessThan(5000)
      expect(await lease.release()).toBe('released')
      await Promise.all([locks.close(), others.close()])
    })

    test('a lock whose first attempt was in doubt passes on with its release', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const locks = createLocks(openThrough(proxy, library))
      const mutex = locks.mutex('lock')
      await (await mutex.acquire()).release()
      const { answeredBytes } = proxy
      proxy.faults.dropReplies = true
      const first = mutex.acquire()
      await eventually('an answer is lost', () => proxy.answeredBytes > answeredBytes)
      proxy.heal()
      proxy.reset()
      const lease = await first
      const next = mutex.acquire({ waitMs: 5000 })
      // The server remembers this release, as the attempt may arrive once more.
      expect(await lease.release()).toBe('released')
      expect(await (await next).release()).toBe('released')
      await locks.close()
    })

    test('a claim that was refused when its connection broke takes no lock when it arrives once more', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const [store, other] = [openThrough(proxy, library), openStore(server)]
      await take(store, makeClaim('warm'))
      await take(other, makeClaim('lock'))
      await take(other, makeClaim('rows', { kind: 'semaphore', capacity: 3 }))
      const [busy, another] = [makeClaim('lock'), makeClaim('rows')]
      proxy.faults.cutReplyAt = 0
      expect((await store.attempt(busy, TRY)).outcome).toBe('busy')
      proxy.faults.cutReplyAt = 0
      await expect(store.attempt(another, TRY)).rejects.toMatchObject({ code: 'LOCK_MISMATCH' })
      for (const claim of [busy, another]) {
        const arrivesOnceMore = async (): Promise<string> => {
          try {
            return (await other.attempt(claim, TRY)).outcome
          } catch (error) {
            return String(error)
          }
        }
        await eventually('it is withdrawn', async () => (await arrivesOnceMore()) === 'withdrawn')
        expect((await store.attempt(claim, TRY)).outcome).toBe('withdrawn')
      }
    })

    test('a vote is not taken back where that may arrive once more, or the vote itself', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const client = connectTo(`redis://127.0.0.1:${proxy.port}`, library)
      const store = closing(new RedisVoter(requestsOf({ client, requestTimeoutMs: 1000 })))
      const [vote, late, clear] = [makeClaim('vote'), makeClaim('late'), makeClaim('clear')]
      const inDoubt = { code: 'STORE_UNAVAILABLE', name: 'StoreUnavailableError' }
      await take(store, vote)
      proxy.faults.cutReplyAt = 0
      await expect(store.retract(vote)).rejects.toMatchObject({ ...inDoubt, lock: 'vote' })
      proxy.faults.cutReplyAt = 0
      await take(store, late)
      await expect(store.retract(late)).rejects.toMatchObject({ ...inDoubt, lock: 'late' })
      // A withdrawal is what both need then.
      expect(await store.withdraw(late)).toBe('released')
      await take(store, clear)
      await store.retract(clear)
      await take(store, clear)
    })

    test('an answer that breaks off in the middle fails nothing that can be asked again', async () => {
      const server = await startServer()
      const proxy = await startProxy(server)
      const store = openThrough(proxy, library)
      await take(store, makeClaim('warm'))
      for (const bytes of [0, 1, 5]) {
        const claim = makeClaim(`lock ${bytes}`)
        proxy.faults.cutReplyAt = bytes
        const result = await store.attempt(claim, TRY)
        expect(result).toMatchObject({ outcome: 'granted', alreadyGranted: true })
        expect(await store.withdraw(claim)).toBe('released')
      }
    })
  })
}
