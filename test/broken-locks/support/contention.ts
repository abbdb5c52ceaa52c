/**
 * Clients that take the lock again and again while messages get lost, doubled and late, and
 * processes stop and die.
 */
import type { Control } from '@holdfast/broken-locks'
import type { Clock } from 'holdfast'
import { SeededRandom } from 'holdfast/testing'
import type { Client, Fate } from './client.js'
import { World } from './world.js'

const CLIENTS = 4
const RUN_MS = 20_000

export interface Outcome {
  readonly grants: number
  /** Acquires that came in while everything was in order again. */
  readonly healed: number
  readonly violations: readonly string[]
}

/**
 * The same seed gives the same run. Afterwards the faults stop, and every client must get in once.
 */
export async function contend(create: Control['create'], seed: number): Promise<Outcome> {
  const world = new World(create)
  const random = new SeededRandom(seed)
  const clients = Array.from({ length: CLIENTS }, () => world.client())
  // The server's clock runs up to half a percent too fast or too slow.
  world.server.rate = 1 + (random.next() - 0.5) / 100
  for (const client of clients) {
    client.faults = () => fate(random)
    void work(world, client, random)
    void disturb(world, client, random)
  }
  await world.clock.advance(RUN_MS + 10_000)
  world.server.losesMessages = false
  let healed = 0
  for (const client of clients) {
    client.faults = () => undefined
    const lease = await client.tryFor(5000)
    if (lease) healed += 1
    await lease?.release().catch(() => undefined)
  }
  const grants = world.history.filter(({ f, type }) => f === 'acquire' && type === 'ok').length
  return { grants, healed, violations: world.violations() }
}

function fate(random: SeededRandom): Fate | undefined {
  const dice = random.next()
  if (dice < 0.03) return { drop: 'request' }
  if (dice < 0.06) return { drop: 'reply' }
  if (dice < 0.08) return { twice: true }
  return { requestMs: random.next() ** 4 * 300, replyMs: random.next() ** 4 * 300 }
}

async function work({ clock }: World, client: Client, random: SeededRandom): Promise<void> {
  while (clock.monotonicMs() < RUN_MS) {
    const lease = await client.lock.acquire().catch(() => undefined)
    await rest(client.clock, random.next() ** 2 * 1500)
    await lease?.release().catch(() => undefined)
    await rest(client.clock, random.next() * 200)
  }
}

/**
 * Stops the process for up to twice its TTL, now and then, sets its wall clock, and lets messages
 * get lost.
 */
async function disturb(
  { clock, server }: World,
  client: Client,
  random: SeededRandom,
): Promise<void> {
  while (clock.monotonicMs() < RUN_MS) {
    await rest(clock, random.next() * 8000)
    client.wallStepMs = (random.next() - 0.5) * 10_000
    server.losesMessages = random.next() < 0.3
    client.pause()
    await rest(clock, random.next() * 2000)
    client.resume()
  }
}

function rest(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.timer(ms, resolve))
}
