/**
 * End to end: a counter that holders of a lock read and set in a fenced resource loses no
 * increment.
 *
 * The counter begins at 0. Each holder reads it and sets it to one more, with the token of its
 * lease. The resource must refuse a token smaller than one it has seen, and an equal token of
 * another owner. The property `fence` is about the resource, `increments` about the counter:
 *
 * - No two accepted writes set the same value.
 * - A read sees every increment that was acknowledged before it was sent, and no increment that was
 *   not requested. A write of n has read n - 1.
 */
import { byKey } from '../hold.js'
import { operationsOf, type Operation } from '../operations.js'
import type { Story } from '../story.js'
import { compare, MOST_VIOLATIONS, piece, type Violation } from '../violation.js'

type Answered = Operation & { readonly answeredNs: bigint }
type Fenced = Answered & { readonly token: bigint }
type Counted = Answered & { readonly value: number }

/** Returns each write that the fenced counter should have refused or kept. */
export function checkCounter({ events }: Story): Violation[] {
  return [...byKey(operationsOf(events)).values()].flatMap((operations) => {
    const accepted = operations.filter((one): one is Answered => one.outcome === 'ok')
    const writes = accepted.filter(({ f }) => f === 'write')
    const fenced = writes.filter((write): write is Fenced => write.token !== undefined)
    const counted = accepted.filter((one): one is Counted => one.value !== undefined)
    return [
      ...stale(fenced),
      ...shared(fenced),
      ...setTwice(counted.filter(({ f }) => f === 'write')),
      ...missed(counted, writes),
      ...invented(counted, operations),
    ]
  })
}

/**
 * Finds writes that the resource accepted after it had accepted a larger token, or had seen a
 * larger one by its own answer.
 */
function stale(writes: readonly Fenced[]): Violation[] {
  const found: Violation[] = []
  const byAnswer = writes.toSorted((a, b) => compare(a.answeredNs, b.answeredNs))
  let largest: Fenced | undefined
  let next = 0
  for (const write of writes.toSorted((a, b) => compare(a.invokedNs, b.invokedNs))) {
    for (
      let earlier = byAnswer[next];
      earlier && earlier.answeredNs < write.invokedNs;
      earlier = byAnswer[next]
    ) {
      if (!largest || earlier.token > largest.token) largest = earlier
      next += 1
    }
    if (largest && largest.token > write.token) {
      const than = `${largest.token} of ${name(largest)} before that was sent`
      found.push(
        violation(
          'fence',
          write,
          `was accepted under the token ${write.token}, after ${than}`,
          largest,
        ),
      )
    } else if (write.fence !== undefined && write.fence > write.token) {
      const than = `the store says that it had seen ${write.fence}`
      found.push(
        violation('fence', write, `was accepted under the token ${write.token}, though ${than}`),
      )
    }
  }
  return found.slice(0, MOST_VIOLATIONS)
}

function shared(writes: readonly Fenced[]): Violation[] {
  const owners = new Map<bigint, Fenced>()
  return writes
    .flatMap((write) => {
      const owner = owners.get(write.token)
      if (!owner) owners.set(write.token, write)
      if (!owner || name(owner) === name(write)) return []
      const what = `was accepted under the token ${write.token}, which ${name(owner)} had used`
      return [violation('fence', write, what, owner)]
    })
    .slice(0, MOST_VIOLATIONS)
}

function setTwice(writes: readonly Counted[]): Violation[] {
  const setters = new Map<number, Counted>()
  return writes
    .flatMap((write) => {
      const setter = setters.get(write.value)
      if (!setter) setters.set(write.value, write)
      if (!setter) return []
      const what = `set the counter to ${write.value}, as ${name(setter)} did: an increment is lost`
      return [violation('increments', write, what, setter)]
    })
    .slice(0, MOST_VIOLATIONS)
}

/** Returns the value that the operation saw: a write of n saw n - 1. */
function seen({ f, value }: Counted): number {
  return f === 'write' ? value - 1 : value
}

function missed(all: readonly Counted[], writes: readonly Answered[]): Violation[] {
  const answers = writes.map(({ answeredNs }) => answeredNs).sort(compare)
  const found: Violation[] = []
  let before = 0
  for (const one of all.toSorted((a, b) => compare(a.invokedNs, b.invokedNs))) {
    while (before < answers.length && (answers[before] as bigint) < one.invokedNs) before += 1
    if (seen(one) >= before) continue
    const what = `saw the counter at ${seen(one)}, though ${before} increments had been acknowledged before it asked`
    found.push(violation('increments', one, what))
  }
  return found.slice(0, MOST_VIOLATIONS)
}

function invented(all: readonly Counted[], operations: readonly Operation[]): Violation[] {
  const requests = operations
    .filter(({ f, outcome }) => f === 'write' && outcome !== 'fail')
    .map(({ invokedNs }) => invokedNs)
    .sort(compare)
  const found: Violation[] = []
  let before = 0
  for (const one of all.toSorted((a, b) => compare(a.answeredNs, b.answeredNs))) {
    while (before < requests.length && (requests[before] as bigint) <= one.answeredNs) before += 1
    // A write is one of the requests, and has not seen itself.
    const most = one.f === 'write' ? before - 1 : before
    if (seen(one) <= most) continue
    const what = `saw the counter at ${seen(one)}, though only ${most} increments had been asked for by then`
    found.push(violation('increments', one, what))
  }
  return found.slice(0, MOST_VIOLATIONS)
}

function violation(
  property: string,
  one: Operation,
  what: string,
  ...others: Operation[]
): Violation {
  const message = `"${one.key}": the ${one.f} of ${name(one)} ${what}.`
  return { property, key: one.key, message, events: piece(...others, one) }
}

function name({ client, pid }: Operation): string {
  return `${client} (pid ${pid})`
}
