/** Plays a history on the scripts and on the model, and compares what both answer. */
import { Redis } from 'ioredis5'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { expect } from 'vitest'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import { clockedClient, type ScriptEdit } from './clocked.js'
import { Model, sorted, type Step } from './model.js'
import { Story, turnOf } from './story.js'

const TURNS = 80
const START_MS = 1_800_000_000_000
/** More than a history lasts. */
const APART_MS = 5_000_000
const END_CHANNEL = 'hf:all was published'

export interface Circumstances {
  /** Whether all clients want the same lock. */
  readonly crowded: boolean
  /** How likely all clients die before a turn, and none comes for longer than most keys live. */
  readonly abandoned: number
  /** How likely the server is started again before a turn, with its data or without. */
  readonly restarts: number
  /** What is broken in the scripts. */
  readonly edits?: readonly ScriptEdit[]
}

export interface Arena {
  readonly server: RedisServer
  readonly redis: Redis
  /** Counts what was answered. */
  readonly outcomes: Map<string, number>
}

/** The same histories, to the millisecond: the same answers, the same tokens, the same wake-ups. */
export async function playHistory(
  arena: Arena,
  seed: number,
  circumstances: Circumstances,
): Promise<void> {
  const { redis, outcomes } = arena
  const { crowded, abandoned, restarts, edits } = circumstances
  const { client, setTime } = clockedClient(redis, edits)
  const store = redisStore({ client })
  const heard = await listen(arena)
  try {
    const story = new Story(seed, crowded)
    const model = new Model()
    let nowMs = START_MS + seed * APART_MS
    for (let turn = 0; turn < TURNS; turn += 1) {
      nowMs += story.chance(abandoned) ? story.abandon() : story.passMs()
      if (story.chance(restarts)) {
        const keepsData = story.chance(0.5)
        // What was published is on its way, and a connection that breaks may swallow it.
        await heard.all()
        await restart(arena, keepsData)
        if (!keepsData) model.clear()
      }
      await setTime(nowMs)
      const steps = turnOf(story, (claim) => model.isVague(claim, nowMs))
      const expected = steps.map((step) => model.do(step, nowMs))
      const answers = await Promise.all(steps.map((step) => perform(store, step)))
      const actual = answers.map((answer, index) =>
        withHintOf(expected[index], answer, model.firstEndMs(steps[index] as Step) - nowMs),
      )
      expect(actual, `seed ${seed}, turn ${turn}: ${show(steps)}`).toEqual(expected)
      for (const answer of expected) count(outcomes, answer)
    }
    await heard.all()
    expect(heard.lines.toSorted(), `wake-ups of seed ${seed}`).toEqual(model.pushed.toSorted())
    outcomes.set('pushed', (outcomes.get('pushed') ?? 0) + model.pushed.length)
  } finally {
    heard.end()
    await store.close()
  }
}

/** Ends the server and starts it again. Clients connect again. */
async function restart({ server, redis }: Arena, keepsData: boolean): Promise<void> {
  await server.kill()
  if (!keepsData) server.forget()
  await server.start()
  await eventually('the client is back', () => redis.ping().catch(() => false))
  await eventually('the listener is back', async () => Number(await redis.pubsub('NUMPAT')) > 0)
}

export async function perform(store: Store, step: Step): Promise<unknown> {
  try {
    switch (step.verb) {
      case 'attempt':
        return await store.attempt(step.claim, step)
      case 'renew':
        return (await store.renew([step.claim]))[0]
      case 'withdraw':
        return await store.withdraw(step.claim)
      case 'downgrade':
        return await store.downgrade(step.claim)
      case 'steal':
        return await store.steal(step.lock, step)
      case 'describe':
        break
    }
    return sorted((await store.inspect([step.lock]))[0])
  } catch (error) {
    return (error as Error).message
  }
}

interface Heard {
  readonly lines: string[]
  /** Resolves when everything is heard that was published until now. */
  all(): Promise<void>
  end(): void
}

/** Channels carry the grants of one script call together. */
async function listen({ server, redis }: Arena): Promise<Heard> {
  const subscriber = new Redis(server.url, { retryStrategy: () => 10 })
  subscriber.on('error', () => undefined)
  const lines: string[] = []
  let ended = false
  subscriber.on('pmessage', (_pattern: string, channel: string, text: string) => {
    if (channel === END_CHANNEL) {
      ended = true
      return
    }
    // Without the TTL, which a renewal in the same step may lengthen; attempts tell it, too.
    for (const line of text.split('\n')) lines.push(line.split(' ').slice(0, 3).join(' '))
  })
  await subscriber.psubscribe('hf:*')
  return {
    lines,
    async all() {
      ended = false
      await redis.publish(END_CHANNEL, '')
      await eventually('all wake-ups', () => ended)
    },
    end: () => subscriber.disconnect(),
  }
}

/**
 * When to look again is a hint, which renewals leave too early in one and the other. It has to be
 * there when the lock has a holder, and never after the first lease ends.
 */
function withHintOf(expected: unknown, actual: unknown, endsInMs: number): unknown {
  const [theirs, ours] = [hintOf(expected), hintOf(actual)]
  if (theirs === undefined || ours === undefined || ours > endsInMs) return actual
  return { ...(actual as object), holderRemainingMs: theirs }
}

function hintOf(answer: unknown): number | undefined {
  const { holderRemainingMs } = (answer ?? {}) as { holderRemainingMs?: number }
  return holderRemainingMs
}

function count(outcomes: Map<string, number>, answer: unknown): void {
  const name =
    typeof answer === 'object' && answer !== null && 'outcome' in answer ? answer.outcome : answer
  if (typeof name === 'string') outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
}

function show(steps: readonly Step[]): string {
  return JSON.stringify(
    steps.map((step) => ({ ...step, ...('claim' in step ? { claim: step.claim.id } : {}) })),
  )
}
