/** The search of the table. */
import type { Clock } from '../../clock/clock.js'
import { pause } from '../../clock/pause.js'
import { shownText } from '../access/sight.js'
import type { KnownLock } from '../look/known-lock.js'

/** A lock may have many waiters. The first of them are searched. */
const MOST_SEARCHED = 20
/** How many texts are made in one turn of the event loop. Each takes up to 40 µs. */
export const TEXTS_IN_A_TURN = 200

const texts = new WeakMap<KnownLock, string>()

/** Whether the name, or the host, label or pid of a holder or waiter, contains the text. */
export function fits(known: KnownLock, lowerCased: string): boolean {
  return lowerCased === '' || textOf(known).includes(lowerCased)
}

/** Makes the texts of all these locks, so that `fits` is fast for them. */
export async function makeTexts(locks: Iterable<KnownLock>, clock: Clock): Promise<void> {
  let made = 0
  for (const known of locks) {
    if (texts.has(known)) continue
    textOf(known)
    made += 1
    if (made % TEXTS_IN_A_TURN === 0) await pause(clock, 0, true)
  }
}

/** What is searched is what is shown: a search finds no secret that the page hides. */
function textOf(known: KnownLock): string {
  let text = texts.get(known)
  if (text === undefined) {
    const { lock, info } = known
    const claims = [
      ...info.holders.slice(0, MOST_SEARCHED),
      ...info.waiters.slice(0, MOST_SEARCHED),
    ]
    const owners = claims.map(
      ({ owner: { host, pid, label = '' } }) => `${shownText(host)} ${pid} ${shownText(label)}`,
    )
    text = [lock, ...owners].join('\n').toLowerCase()
    texts.set(known, text)
  }
  return text
}
