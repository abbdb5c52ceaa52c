/**
 * The modelled Redis and its scripts do what a real server and the Lua text do, and the controls
 * run on both.
 */
import {
  CONTROLS,
  goodLock,
  ModelRedis,
  SCRIPTS,
  type ControlWorld,
  type Reply,
} from '@holdfast/broken-locks'
import { connectRedis, type RealConnection } from '@holdfast/broken-locks/ioredis'
import { systemClock, systemRandom } from 'holdfast'
import { SeededRandom } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Normaliser, outcomeOf, randomStep, type Outcome, type Step } from './random-history.js'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'

const SEEDS = 80
const STEPS = 150

let server: RedisServer
let redis: RealConnection

beforeAll(async () => {
  server = await startRedis()
  redis = connectRedis(server.url)
})

afterAll(async () => {
  redis?.close()
  await server?.stop()
})

function onReal(step: Step): Promise<Outcome> {
  return outcomeOf(step, () =>
    'command' in step
      ? redis.command(...step.command)
      : redis.script(step.script, step.keys, step.args),
  )
}

describe('the modelled Redis', () => {
  test(`answers as a real one, in ${SEEDS} random histories`, async () => {
    const seen = new Set<string>()
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      await redis.command('FLUSHALL')
      const random = new SeededRandom(seed)
      const model = new ModelRedis()
      const [ofModel, ofReal] = [new Normaliser(), new Normaliser()]
      const steps = Array.from({ length: STEPS }, () => randomStep(random))
      // All in one flight: a connection answers in order.
      const answers = await Promise.all(steps.map(onReal))
      for (const [index, step] of steps.entries()) {
        // Several steps in one millisecond, as on a real server.
        const nowMs = 1_700_000_000_000 + index / 4
        const run = (): Reply =>
          'command' in step
            ? model.execute(step.command, nowMs)
            : model.script(step.script, step.keys, step.args, nowMs)
        const modelled = ofModel.of(await outcomeOf(step, run))
        const real = ofReal.of(answers[index] as Outcome)
        expect({ seed, index, step, outcome: modelled }).toEqual({
          seed,
          index,
          step,
          outcome: real,
        })
        if ('script' in step)
          seen.add(`${step.script.name} ${JSON.stringify(modelled).replace(/\d+/g, 'n')}`)
      }
    }
    // The histories reach what they are for: every script, with several answers.
    for (const { name } of SCRIPTS) {
      expect([...seen].filter((answer) => answer.startsWith(`${name} `)).length).toBeGreaterThan(1)
    }
  })

  test('lets keys expire in the same millisecond', async () => {
    const model = new ModelRedis()
    model.execute(['SET', 'key', 'value', 'PX', 50], 1000)
    expect(model.execute(['PTTL', 'key'], 1050)).toBe(0)
    expect(model.execute(['GET', 'key'], 1051)).toBeNull()
    await redis.command('SET', 'key', 'value', 'PX', 50)
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(await redis.command('GET', 'key')).toBeNull()
  })

  test('does not bring back what expired when its clock is set back', () => {
    const model = new ModelRedis()
    model.execute(['SET', 'key', 'value', 'PX', 50], 1000)
    model.execute(['GET', 'other'], 2000)
    expect(model.execute(['GET', 'key'], 1000)).toBeNull()
  })

  test('keeps its data, with the expiry, through a restart, or loses it', () => {
    const model = new ModelRedis()
    model.execute(['SET', 'key', 'value', 'PX', 50], 1000)
    model.restart({ withData: true })
    expect(model.execute(['PTTL', 'key'], 1020)).toBe(30)
    model.restart({ withData: false })
    expect(model.execute(['GET', 'key'], 1020)).toBeNull()
  })

  test('hands over what was published, once', () => {
    const model = new ModelRedis()
    model.execute(['PUBLISH', 'channel', 'message'], 1000)
    expect(model.takePublished()).toEqual([{ channel: 'channel', message: 'message' }])
    expect(model.takePublished()).toEqual([])
  })
})

describe.each([{ id: 'the good lock', create: goodLock }, ...CONTROLS])(
  '$id, on a real Redis',
  (control) => {
    test('grants, keeps others out, and hands over', async () => {
      const world: ControlWorld = { clock: systemClock, random: systemRandom, redis }
      const settings = {
        lock: `real:${control.id}`,
        ttlMs: 10_000,
        requestTimeoutMs: 2000,
        retryMs: 20,
      }
      const [one, two] = [control.create(world, settings), control.create(world, settings)]
      const first = await one.acquire()
      const order: string[] = []
      const waiting = two.acquire().then((lease) => {
        order.push('second')
        return lease
      })
      await new Promise((resolve) => setTimeout(resolve, 50))
      order.push('release')
      expect(await first.release()).toBe('released')
      const second = await waiting
      expect(order).toEqual(['release', 'second'])
      expect(second.held).toBe(true)
      expect(await second.release()).toBe('released')
    })
  },
)
