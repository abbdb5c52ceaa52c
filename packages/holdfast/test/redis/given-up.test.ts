/**
 * Renewals of a claim that the client is withdrawing, since an attempt that was refused may arrive
 * a second time.
 */
import { expect, test } from 'vitest'
import type { Claim, RenewResult } from 'holdfast/store'
import { systemClock, systemRandom } from '../../dist/clock/clock.js'
import type { Deployment } from '../../dist/stores/redis/connection/deployment.js'
import type { Verb } from '../../dist/stores/redis/verbs/batches.js'
import { RedisRequests } from '../../dist/stores/redis/verbs/requests.js'
import { RedisStore } from '../../dist/stores/redis/store.js'
import { verbsOfWords } from './support/verbs-of.js'

const CLAIM: Claim = {
  lock: 'order:1',
  id: 'claim',
  kind: 'mutex',
  capacity: 1,
  weight: 1,
  ttlMs: 60_000,
  heartbeatMs: 1000,
  owner: { clientId: 'test', host: 'test', pid: 1 },
}

/** A store whose server answers when the test lets it, one request a call. */
function makeStore() {
  const open = new Map<Verb, (line: string) => void>()
  const connection = { breaks: 0 }
  const deployment = {
    keyPrefix: '',
    oneLockACall: true,
    publish: 'PUBLISH',
    get breaks() {
      return connection.breaks
    },
    send: (listener, _script, _keys, words) =>
      void open.set(verbsOfWords(words) as Verb, (line) => listener.done(undefined, line)),
    subscriptions: () => ({
      publishTo: 'PUBLISH channel',
      join: () => ({ ready: undefined, leave: () => undefined }),
      close: () => undefined,
    }),
    close: () => undefined,
  } as Partial<Deployment> as Deployment
  const settings = { prefix: 'hf', clock: systemClock, random: systemRandom, replicated: false }
  const store = new RedisStore(new RedisRequests(deployment, settings))
  const sent = async (verb: Verb): Promise<void> => {
    await expect.poll(() => open.has(verb)).toBe(true)
  }
  const answer = async (verb: Verb, line: string): Promise<void> => {
    await sent(verb)
    open.get(verb)?.(line)
    open.delete(verb)
  }
  const renew = async (): Promise<RenewResult | undefined> => (await store.renew([CLAIM]))[0]
  /** The connection breaks under an attempt, which is sent again and refused. */
  const refuse = async (): Promise<void> => {
    const attempt = store.attempt(CLAIM, { enqueue: false, tokens: 1 })
    connection.breaks += 1
    await answer('a', 'b')
    expect((await attempt).outcome).toBe('busy')
    // What leaves in the same turn travels in one call.
    await sent('w')
  }
  return { store, sent, answer, renew, refuse }
}

test('renewal that leaves while the claim is being withdrawn is unknown', async () => {
  const { store, answer, renew, refuse } = makeStore()
  await refuse()
  const renewal = renew()
  await answer('r', 'r')
  expect(await renewal).toMatchObject({ outcome: 'unknown', cause: { lock: CLAIM.lock } })
  store.close()
})

test('renewal that leaves before the claim is withdrawn and is answered after that is unknown', async () => {
  const { store, sent, answer, renew, refuse } = makeStore()
  const renewal = renew()
  await sent('r')
  await refuse()
  await answer('r', 'r')
  expect(await renewal).toMatchObject({ outcome: 'unknown' })
  store.close()
})

test('renewal that leaves while the claim is being withdrawn is unknown though the withdrawal is answered first', async () => {
  const { store, answer, renew, refuse } = makeStore()
  await refuse()
  const renewal = renew()
  await answer('w', 'absent')
  await answer('r', 'r')
  expect(await renewal).toMatchObject({ outcome: 'unknown' })
  store.close()
})

test('refused renewal of a claim that is being withdrawn is lost', async () => {
  const { store, answer, renew, refuse } = makeStore()
  await refuse()
  const renewal = renew()
  await answer('r', 'l')
  expect(await renewal).toMatchObject({ outcome: 'lost' })
  store.close()
})
