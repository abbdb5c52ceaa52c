/**
 * The checkers have the verdicts of an exhaustive search, over many small histories. Most of their
 * locks are broken.
 */
import { checkExclusion, checkTokens, holdsOf, type HistoryEvent } from '@holdfast/conformance'
import { SeededRandom } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { isFull } from '../../../../test/support/plan.js'
import { isExplained, type SmallHold } from './support/search.js'

const HISTORIES = isFull() ? 30_000 : 3000

interface SmallHistory {
  readonly capacity: number
  readonly holds: readonly SmallHold[]
  readonly events: readonly HistoryEvent[]
}

/**
 * Draws up to three clients with up to two holds each, at moments that all differ. Tokens are in
 * the order of the grants except for some disorder, so that enough of them grow.
 */
function smallHistory(random: SeededRandom, disorder: number): SmallHistory {
  const upTo = (most: number): number => 1 + Math.floor(random.next() * most)
  const capacity = upTo(3)
  const clients = Array.from({ length: 1 + upTo(2) }, () => upTo(2))
  const moments = shuffled(
    clients.flatMap((holds, client) => Array.from({ length: 4 * holds }, () => client)),
    random,
  )
  const holds = clients.flatMap((count, client) => {
    const its = moments.flatMap((whose, at) => (whose === client ? [at] : []))
    return Array.from({ length: count }, (_, at) => {
      const [asked = 0, granted = 0, released = 0, answered = 0] = its.slice(4 * at, 4 * at + 4)
      const weight = upTo(capacity)
      const token =
        1 + Math.floor((asked + (granted - asked) * random.next()) * 4 + random.next() * disorder)
      return {
        client,
        hold: { weight, token, times: [asked, granted, released, answered] as const },
      }
    })
  })
  const events = holds.flatMap(({ client, hold }) => eventsOf(`c${client}`, capacity, hold))
  return { capacity, holds: holds.map(({ hold }) => hold), events }
}

function eventsOf(client: string, capacity: number, hold: SmallHold): HistoryEvent[] {
  const [asked, granted, released, answered] = hold.times.map(BigInt) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const actor = { pid: 1, client, key: 'lock' }
  const token = BigInt(hold.token)
  return [
    { ...actor, t_ns: asked, f: 'acquire', type: 'invoke' },
    { ...actor, t_ns: granted, f: 'acquire', type: 'ok', weight: hold.weight, capacity, token },
    { ...actor, t_ns: released, f: 'release', type: 'invoke' },
    { ...actor, t_ns: answered, f: 'release', type: 'ok' },
  ]
}

function shuffled<Item>(items: readonly Item[], random: SeededRandom): Item[] {
  const result = [...items]
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random.next() * (at + 1))
    ;[result[at], result[other]] = [result[other] as Item, result[at] as Item]
  }
  return result
}

/** Compares the verdicts, and returns how many histories passed. */
function agreement(
  judge: (events: readonly HistoryEvent[]) => boolean,
  search: (history: SmallHistory) => boolean,
  disorder = 4,
): number {
  let passed = 0
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const history = smallHistory(new SeededRandom(seed), disorder)
    const verdict = search(history)
    if (judge(history.events) !== verdict) {
      expect.fail(`seed ${seed}: the search says ${verdict} of ${JSON.stringify(history.holds)}`)
    }
    passed += Number(verdict)
  }
  return passed
}

describe(`on ${HISTORIES} small histories the verdict is that of an exhaustive search:`, () => {
  test('exclusion', () => {
    const passed = agreement(
      (events) => checkExclusion(holdsOf(events)).length === 0,
      ({ holds, capacity }) => isExplained(holds, { capacity, excludes: true, fenced: false }),
    )
    expect(passed).toBeGreaterThan(HISTORIES / 5)
    expect(passed).toBeLessThan((HISTORIES * 4) / 5)
  })

  test('tokens of a lock without exclusion', () => {
    const passed = agreement(
      (events) => checkTokens(holdsOf(events)).every(({ property }) => property === 'grant-order'),
      ({ holds, capacity }) => isExplained(holds, { capacity, excludes: false, fenced: true }),
      60,
    )
    expect(passed).toBeGreaterThan(HISTORIES / 5)
    expect(passed).toBeLessThan((HISTORIES * 4) / 5)
  })

  test('exclusion and tokens together', () => {
    const passed = agreement(
      (events) =>
        checkExclusion(holdsOf(events)).length + checkTokens(holdsOf(events)).length === 0,
      ({ holds, capacity }) => isExplained(holds, { capacity, excludes: true, fenced: true }),
    )
    expect(passed).toBeGreaterThan(HISTORIES / 10)
    expect(passed).toBeLessThan((HISTORIES * 9) / 10)
  })
})
