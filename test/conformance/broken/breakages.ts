/**
 * Defects of stores, one at a time. Most of them were found in published libraries.
 */
import { grantRule, type LockState } from 'holdfast/internal'
import { pageOf, type Breakage, type Rule } from './rule-store.js'

type RuleOf<V extends keyof Rule> = (sound: Rule) => Rule[V]

/** Breaks one verb. */
function verb<V extends keyof Rule>(
  which: V,
  name: string,
  caughtBy: string,
  rule: RuleOf<V>,
): Breakage {
  return { name, caughtBy, rule: (sound) => ({ [which]: rule(sound) }) }
}

const firstHolder = (state: LockState) => state.holders.values().next().value

const OWNERSHIP: readonly Breakage[] = [
  verb(
    'renew',
    'renews for another claim id',
    'another claim id renews nothing',
    (sound) => (state, renewal, step) => {
      const holder = firstHolder(state)
      return sound.renew(state, holder ? { ...renewal, id: holder.id } : renewal, step)
    },
  ),
  verb(
    'renew',
    'renews a lease that has expired',
    'a renewal after the lease expired is refused, even without a new holder',
    (sound) => (state, renewal, step) => {
      const holder = state.holders.get(renewal.id)
      if (!holder) return sound.renew(state, renewal, step)
      holder.expiresMs = step.nowMs + renewal.ttlMs
      return { outcome: 'renewed' }
    },
  ),
  verb(
    'renew',
    'renews a lease that was released',
    'a renewal after the release is refused and restores nothing',
    () => {
      return () => ({ outcome: 'renewed' })
    },
  ),
  verb(
    'renew',
    'lengthens a lease that is only annotated',
    'a renewal that keeps the end shows its owner, notes included, and lengthens nothing',
    (sound) => (state, renewal, turn) => sound.renew(state, { ...renewal, keepsEnd: false }, turn),
  ),
  verb(
    'renew',
    'hides what a holder waits for',
    'one wait of a deadlock over two mutexes fails, and the other gets its lock',
    (sound) => (state, renewal, turn) =>
      sound.renew(state, { ...renewal, owner: { ...renewal.owner, waitsFor: undefined } }, turn),
  ),
  verb(
    'withdraw',
    'releases for another claim id',
    'another claim id releases nothing',
    (sound) => (state, claim, step) => {
      const holder = firstHolder(state)
      return sound.withdraw(state, holder ? { ...claim, id: holder.id } : claim, step)
    },
  ),
  verb(
    'withdraw',
    'lets a stale release free the next holder',
    'a release after the lease expired frees nothing, and is not answered `released`',
    (sound) => (state, claim, step) => {
      const outcome = sound.withdraw(state, claim, step)
      const holder = outcome === 'absent' ? firstHolder(state) : undefined
      return holder ? sound.withdraw(state, { ...claim, id: holder.id }, step) : outcome
    },
  ),
  verb(
    'withdraw',
    'always answers `released`',
    'another claim id releases nothing',
    (sound) => (state, claim, step) => {
      sound.withdraw(state, claim, step)
      return 'released'
    },
  ),
  verb(
    'withdraw',
    'forgets what it answered',
    'a release frees the lock, and a repeated release is answered the same',
    (sound) => (state, claim, step) => {
      const known = state.tombstones.has(claim.id)
      const outcome = sound.withdraw(state, claim, step)
      return known ? 'absent' : outcome
    },
  ),
  {
    name: 'keeps no tombstones',
    caughtBy: 'an attempt that arrives after its own withdraw is refused',
    afterwards: (state) => state.tombstones.clear(),
  },
  {
    name: 'keeps no tombstone of a claim that it never saw',
    caughtBy: 'an attempt that arrives after its own withdraw is refused',
    afterwards: (state) => forget(state, (outcome) => outcome === 'absent'),
  },
  {
    name: 'keeps no tombstone of a claim that left the queue',
    caughtBy: 'an attempt that arrives after its claim left the queue is refused',
    afterwards: (state) => forget(state, (outcome) => outcome === 'left'),
  },
  {
    name: 'remembers eight withdrawn claims',
    caughtBy: 'the tombstone of a withdrawn claim outlasts a hundred later claims',
    afterwards: ({ tombstones }) => {
      for (const id of tombstones.keys()) if (tombstones.size > 8) tombstones.delete(id)
    },
  },
]

function forget({ tombstones }: LockState, unwanted: (outcome: string) => boolean): void {
  for (const [id, { outcome }] of tombstones) if (unwanted(outcome)) tombstones.delete(id)
}

const ATTEMPTS: readonly Breakage[] = [
  verb(
    'attempt',
    'extends the lease of a repeated attempt',
    'a repeated attempt does not extend the lease',
    (sound) => (state, claim, options, step) => {
      const holder = state.holders.get(claim.id)
      if (holder && holder.expiresMs > step.nowMs) holder.expiresMs = step.nowMs + claim.ttlMs
      return sound.attempt(state, claim, options, step)
    },
  ),
  verb(
    'attempt',
    'extends a pushed grant when an attempt asks for it',
    'a grant to a waiter reports how long it really lasts',
    (sound) => (state, claim, options, step) => {
      const result = sound.attempt(state, claim, options, step)
      if (result.outcome !== 'granted' || !result.alreadyGranted) return result
      return { ...result, remainingMs: claim.ttlMs, ttlMs: claim.ttlMs * 2 }
    },
  ),
  verb(
    'attempt',
    'takes a repeated attempt for a new one',
    'a repeated attempt returns the same lease',
    (sound) => (state, claim, options, step) => {
      const holder = state.holders.get(claim.id)
      if (holder) {
        state.holders.delete(claim.id)
        state.heldWeight -= holder.weight
      }
      return sound.attempt(state, claim, options, step)
    },
  ),
  verb(
    'attempt',
    'counts the holds of a repeated attempt',
    'a repeated attempt returns the same lease',
    (sound) => (state, claim, options, step) => {
      if (state.holders.has(claim.id)) state.heldWeight += claim.weight
      return sound.attempt(state, claim, options, step)
    },
  ),
  verb(
    'attempt',
    'queues a claim that does not ask for it',
    'a busy answer leaves nothing in the store',
    (sound) => (state, claim, options, step) => {
      const result = sound.attempt(state, claim, { ...options, enqueue: true }, step)
      return result.outcome === 'waiting' && !options.enqueue
        ? { ...result, outcome: 'busy' }
        : result
    },
  ),
  verb(
    'attempt',
    'grants one claim more than the capacity',
    'one of many attempts sent together is granted',
    (sound) => (state, claim, options, step) => {
      if (state.holders.size === 1) state.heldWeight = 0
      return sound.attempt(state, claim, options, step)
    },
  ),
  verb(
    'attempt',
    'ignores that clients disagree on the capacity',
    'another number of permits is refused while the lock is held',
    (sound) => (state, claim, options, step) => {
      return sound.attempt(state, { ...claim, capacity: state.capacity }, options, step)
    },
  ),
  verb(
    'attempt',
    'ignores that clients disagree on the kind',
    'another kind is refused while the lock is held',
    (sound) => (state, claim, options, step) => {
      return sound.attempt(
        state,
        { ...claim, kind: state.kind, capacity: state.capacity },
        options,
        step,
      )
    },
  ),
  verb(
    'attempt',
    'removes the waiters before it refuses a mismatch',
    'a refused claim changes neither holders nor waiters',
    (sound) => (state, claim, options, step) => {
      try {
        return sound.attempt(state, claim, options, step)
      } catch (error) {
        state.waiters.clear()
        throw error
      }
    },
  ),
  verb('attempt', 'ends leases too early', 'a lease does not end before its TTL', (sound) => {
    return (state, claim, options, step) =>
      sound.attempt(state, { ...claim, ttlMs: claim.ttlMs * 0.8 }, options, step)
  }),
  {
    name: 'never ends a lease',
    caughtBy: 'an expired lease lets the next claim in',
    afterwards: (state) => {
      for (const holder of state.holders.values()) holder.expiresMs = Infinity
    },
  },
]

/** Grants a claim as if there were no waiters. */
function overtaking(
  sound: Rule,
  may: (state: LockState, weight: number) => boolean,
): Rule['attempt'] {
  return (state, claim, options, step) => {
    grantRule.expireAndPromote(state, step)
    if (!may(state, claim.weight) || state.waiters.has(claim.id)) {
      return sound.attempt(state, claim, options, step)
    }
    const aside = [...state.waiters]
    state.waiters.clear()
    try {
      return sound.attempt(state, claim, options, step)
    } finally {
      const behind = [...state.waiters]
      state.waiters.clear()
      for (const [id, waiter] of [...aside, ...behind]) state.waiters.set(id, waiter)
    }
  }
}

const QUEUE: readonly Breakage[] = [
  verb(
    'attempt',
    'lets readers overtake a writer that waits',
    'readers do not overtake a waiting writer, and are granted together after it',
    (sound) => overtaking(sound, (state, weight) => state.kind === 'readWriteLock' && weight === 1),
  ),
  verb(
    'attempt',
    'lets small claims overtake big ones',
    'a small claim does not overtake a waiting big claim, even if it would fit',
    (sound) => overtaking(sound, (state) => state.kind === 'semaphore'),
  ),
  verb(
    'attempt',
    'starves big claims',
    'a stream of small claims does not starve a big claim',
    (sound) => overtaking(sound, (state, weight) => state.kind === 'semaphore' && weight === 1),
  ),
  verb(
    'attempt',
    'grants the last waiter first',
    'waiters are granted in the order in which they queued',
    (sound) => {
      return (state, claim, options, step) => {
        const known = state.waiters.has(claim.id)
        const result = sound.attempt(state, claim, options, step)
        if (!known && result.outcome === 'waiting') {
          const order = [...state.waiters].toReversed()
          state.waiters.clear()
          for (const [id, waiter] of order) state.waiters.set(id, waiter)
        }
        return result
      }
    },
  ),
  verb(
    'attempt',
    'moves a claim that attempts again to the end',
    'a repeated attempt keeps its place in the queue',
    (sound) => {
      return (state, claim, options, step) => {
        state.waiters.delete(claim.id)
        return sound.attempt(state, claim, options, step)
      }
    },
  ),
  {
    name: 'keeps dead waiters in the queue',
    caughtBy: 'a waiter without heartbeats loses its place',
    afterwards: (state) => {
      for (const waiter of state.waiters.values()) waiter.seenMs = Infinity
    },
  },
  {
    name: 'gives a grant to a waiter its whole TTL at once',
    caughtBy: 'a grant to a dead waiter ends after three heartbeats, not after its TTL',
    afterwards: (state, { promoted, nowMs }) => {
      for (const holder of promoted) holder.expiresMs = nowMs + 20_000
      if (promoted.length > 0) state.nextExpiryMs = nowMs + 20_000
    },
  },
  verb(
    'renew',
    'never gives a grant to a waiter its whole TTL',
    "the first renewal of a waiter's grant extends it to its whole TTL",
    (sound) => (state, renewal, step) => {
      const { ttlMs = renewal.ttlMs } = state.holders.get(renewal.id) ?? {}
      return sound.renew(state, { ...renewal, ttlMs }, step)
    },
  ),
  { name: 'wakes no waiter', caughtBy: 'a waiter is woken when it is granted', silent: true },
]

const TOKENS: readonly Breakage[] = [
  {
    name: 'counts tokens in each client',
    caughtBy: 'tokens grow from holder to holder, across clients',
    tokensPerClient: true,
  },
  {
    name: 'restarts the tokens of an idle lock',
    caughtBy: 'tokens grow from holder to holder, across clients',
    afterwards: (state) => {
      if (state.holders.size === 0 && state.waiters.size === 0) state.lastToken = 0
    },
  },
  {
    name: 'gives the same token to all who hold together',
    caughtBy: 'holders at the same time have different tokens',
    afterwards: (state) => {
      state.lastToken = Math.max(0, (firstHolder(state)?.token ?? 1) - 1)
    },
  },
  {
    name: 'reserves one token for a block',
    caughtBy: 'token blocks of different grants never overlap',
    afterwards: (state) => {
      for (const { token } of state.holders.values()) state.lastToken = token
    },
  },
  verb(
    'steal',
    'restarts the tokens when it steals',
    'tokens grow when the lock is stolen',
    (sound) => {
      return (state, options, step) => {
        const result = sound.steal(state, options, step)
        state.lastToken = 0
        return result
      }
    },
  ),
]

const ADMINISTRATION: readonly Breakage[] = [
  verb(
    'steal',
    'lets a stolen lease be renewed',
    'a stolen lease cannot be renewed, and keeps the lock until it ends',
    (sound) => (state, options, step) => {
      const result = sound.steal(state, options, step)
      for (const holder of state.holders.values()) holder.stolen = false
      return result
    },
  ),
  verb('steal', 'frees nothing with now', 'a lock stolen with `now` is free at once', (sound) => {
    return (state, _options, step) => ({ ...sound.steal(state, { now: false }, step), freeInMs: 0 })
  }),
  verb(
    'steal',
    'frees at once without now',
    'a stolen lease cannot be renewed, and keeps the lock until it ends',
    (sound) => (state, _options, step) => sound.steal(state, { now: true }, step),
  ),
  verb(
    'renew',
    'keeps a stolen lease while its client lives',
    'a stolen lock is free when the lease ends, even if its holder learned of the loss and does nothing',
    (sound) => (state, renewal, step) => {
      const result = sound.renew(state, renewal, step)
      const holder = state.holders.get(renewal.id)
      if (holder?.stolen) holder.expiresMs = Infinity
      return result
    },
  ),
  {
    name: 'lets a stolen lease come back',
    caughtBy: 'a resent attempt does not restore a lease that was stolen with `now`',
    rule: (sound) => ({
      steal(state, options, step) {
        const result = sound.steal(state, options, step)
        state.tombstones.clear()
        return result
      },
    }),
  },
  verb(
    'downgrade',
    'subtracts the weight twice',
    'a repeated downgrade succeeds',
    (sound) => (state, claim, step) => {
      const before = state.heldWeight
      const held = sound.downgrade(state, claim, step)
      if (held && state.heldWeight === before) state.heldWeight -= 1
      return held
    },
  ),
  verb(
    'downgrade',
    'downgrades for another claim id',
    'a downgrade of a claim without a grant is refused',
    () => () => true,
  ),
  verb(
    'downgrade',
    'does not downgrade',
    'a downgraded writer lets new readers in and keeps writers out',
    () => () => true,
  ),
  {
    name: 'folds the case of names',
    caughtBy: 'hostile names are locks of their own',
    keyOf: (lock) => lock.toLowerCase(),
  },
  {
    name: 'trims names',
    caughtBy: 'hostile names are locks of their own',
    keyOf: (lock) => lock.trim(),
  },
  {
    name: 'normalises names',
    caughtBy: 'hostile names are locks of their own',
    keyOf: (lock) => lock.normalize('NFKC'),
  },
  {
    name: 'cuts names',
    caughtBy: 'names of the maximum length that differ in the last byte are two locks',
    keyOf: (lock) => lock.slice(0, 255),
  },
  {
    name: 'takes percent signs in a prefix for patterns',
    caughtBy: 'list with a prefix returns exactly the names that begin with it',
    page: (all, prefix, after, limit) => {
      const pattern = prefix.split('%').map((part) => part.replaceAll(/\W/gu, '\\$&'))
      const like = new RegExp(`^${pattern.join('.*')}`, 'su')
      return all.filter((lock) => like.test(lock) && lock > after).slice(0, limit)
    },
  },
  {
    name: 'begins each page with the last name of the page before',
    caughtBy: 'list names every lock of a prefix, page by page',
    page: (all, prefix, after, limit) =>
      all.filter((lock) => lock.startsWith(prefix) && lock >= after).slice(0, limit),
  },
  {
    name: 'leaves a lock out where pages meet',
    caughtBy: 'list names every lock of a prefix, page by page',
    page: (all, prefix, after, limit) =>
      pageOf(all, prefix, after, limit + 1)
        .slice(after === '' ? 0 : 1, limit + 1)
        .slice(0, limit),
  },
  verb(
    'describe',
    'shows the queue in another order',
    'inspect shows the waiters in the order of the queue',
    (sound) => {
      return (lock, state, step) => {
        const info = sound.describe(lock, state, step)
        return info && { ...info, waiters: info.waiters.toReversed() }
      }
    },
  ),
]

export const BREAKAGES: readonly Breakage[] = [
  ...OWNERSHIP,
  ...ATTEMPTS,
  ...QUEUE,
  ...TOKENS,
  ...ADMINISTRATION,
]
