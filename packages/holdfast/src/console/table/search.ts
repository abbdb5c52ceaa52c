/** The search of the table. */
import { shownText } from '../access/sight.js'
import type { KnownLock } from '../look/known-lock.js'

/** A lock may have many waiters. The first of them are searched. */
const MOST_SEARCHED = 20

const texts = new WeakMap<KnownLock, string>()

/** Whether the name, or the host, label or pid of a holder or waiter, contains the text. */
export function fits(known: KnownLock, lowerCased: string): boolean {
  return lowerCased === '' || textOf(known).includes(lowerCased)
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
