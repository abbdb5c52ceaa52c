/**
 * The second floor on Redis: the store's own calls, without the rest of the client. The server does
 * all that it does for Holdfast: it keeps a queue, remembers withdrawals and gives tokens. The
 * client has no lease, no deadline, no renewal and no queue of its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { LockError } from 'holdfast'
import { CAPACITY_ALL, type Claim } from 'holdfast/store'
import type { Locker } from '../locker.js'
import { loadOwn } from './own-modules.js'
import type { ScriptRunner } from './redis.js'

const REDIS = 'stores/redis'
const TTL_MS = 30_000

type Batching = typeof import('../../../packages/holdfast/dist/stores/redis/verbs/batches.js')
type Terms = typeof import('../../../packages/holdfast/dist/stores/redis/wire/terms-encoder.js')
type Answers = typeof import('../../../packages/holdfast/dist/stores/redis/wire/answers.js')
type Scripts =
  typeof import('../../../packages/holdfast/dist/stores/redis/rule/scripts.generated.js')

const owner = {
  clientId: randomBytes(12).toString('base64url'),
  host: hostname(),
  pid: process.pid,
}
let ids = 0

function nextClaim(lock: string): Claim {
  ids += 1
  const whole = { capacity: CAPACITY_ALL, weight: CAPACITY_ALL }
  const id = `${owner.clientId}.${ids}`
  return { lock, id, kind: 'mutex', ...whole, ttlMs: TTL_MS, heartbeatMs: 1000, owner }
}

export function redisOwnCalls(runner: ScriptRunner): Locker {
  const opening = open(runner)
  return (name) => async () => {
    const { attempt, withdraw } = await opening
    const claim = nextClaim(name)
    const { outcome } = await attempt(claim)
    if (outcome !== 'granted') throw new Error(`A free lock was not to be had: ${outcome}`)
    return () => withdraw(claim)
  }
}

/**
 * The same calls for a `run` that does not await its release. The callback has a context, as it has
 * in Holdfast: the engine then notes the context of each promise.
 */
export function redisOwnRuns(runner: ScriptRunner): Locker {
  const opening = open(runner)
  const contexts = new AsyncLocalStorage<Claim>()
  return (name) => async () => {
    const { attempt, withdraw } = await opening
    const claim = nextClaim(name)
    const { outcome } = await attempt(claim)
    if (outcome !== 'granted') throw new Error(`A free lock was not to be had: ${outcome}`)
    await contexts.run(claim, nothing)
    void withdraw(claim)
    return nothing
  }
}

async function nothing(): Promise<void> {}

async function open(runner: ScriptRunner) {
  const [{ batchQueue }, { TermsEncoder }, answers, { applyBatch }] = await Promise.all([
    loadOwn<Batching>(`${REDIS}/verbs/batches.js`),
    loadOwn<Terms>(`${REDIS}/wire/terms-encoder.js`),
    loadOwn<Answers>(`${REDIS}/wire/answers.js`),
    loadOwn<Scripts>(`${REDIS}/rule/scripts.generated.js`),
  ])
  await runner.load(applyBatch.source)
  const encoder = new TermsEncoder()
  const queue = batchQueue({
    prefix: 'hf:',
    oneLockACall: false,
    publishTo: `PUBLISH hf:${owner.clientId}`,
    atTickEnd: (work) => process.nextTick(work),
    send: (listener, { sha }, keys, args) => {
      runner.run(sha, keys, args).then(
        (reply) => listener.done(undefined, reply),
        (error: unknown) => listener.done(error as LockError),
      )
    },
  })
  const ask = (verb: 'a' | 'w', claim: Claim): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const terms =
        verb === 'a' ? encoder.attempt(claim, true, 1) : encoder.withdrawal(claim.ttlMs, false)
      queue.add({
        verb,
        claim,
        terms,
        done: (error, reply) => (error === undefined ? resolve(reply) : reject(error)),
      })
    })
  const { lineOf, readAttempt, readWithdrawal } = answers
  return {
    attempt: async (claim: Claim) => {
      const reply = await ask('a', claim)
      return readAttempt(typeof reply === 'number' ? reply : lineOf(reply), claim, 1)
    },
    withdraw: async (claim: Claim) => readWithdrawal(lineOf(await ask('w', claim))),
  }
}
