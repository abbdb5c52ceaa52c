/** What the page says about trouble, in English. */
import { several } from './several.js'

export const enTrouble = {
  problems: {
    heading: 'What is wrong',
    quiet: 'Nothing is wrong',
    quietSoFar: 'Nothing is wrong so far',
    quietNote: (warn: string) =>
      `No deadlock, no late renewal, no waiter older than ${warn}, no stolen lock that is still held. The store answers.`,
    empty: 'This store holds no locks',
    emptyNote:
      'No process holds a lock or waits for one. If you expect some, compare the namespace, the prefix and the address of the store with those of your program.',
    incomplete: 'The first walk over all names is still running.',
    further: (count: string) => `Not listed: ${several(count, 'further problem')}.`,
    unsearched: 'There may be more deadlocks',
    unsearchedNote: (count: string) =>
      `Very many holders wait for each other. The search for deadlocks has read the waits of ${count} locks. A deadlock with another lock is not listed, and has no mark.`,
  },
  deadlock: {
    title: (count: number) =>
      count === 1
        ? 'Deadlock: a holder waits for itself'
        : `Deadlock: ${count} holders wait for each other`,
    resolved: 'Deadlock, resolved',
    seen: (age: string) => `seen ${age} ago`,
    holds: 'holds',
    for: (held: string) => `for ${held}`,
    waitsFor: 'waits for',
    still: (count: number): string =>
      count === 1
        ? 'The marked process stands still, hangs, or has lost the store. Let it continue, and one of the waits fails with DEADLOCK; or stop it. If you stop another one, the marked one still keeps its lock.'
        : 'The marked processes stand still, hang, or have lost the store. Let them continue, and one of the waits fails with DEADLOCK; or stop them. If you stop another one, the marked ones still keep their locks.',
    allStill:
      'All of these processes stand still, hang, or have lost the store. Let them continue, and one of the waits fails with DEADLOCK; or stop any one of them.',
    young:
      'Wait for half a minute: a process that stands still is marked then, when its claim has left the queue. If you stop another one, its lock stays held.',
    anyOne:
      'No process of these is silent, so any one will do: stop it. Its work fails, and the others continue.',
    someOne:
      'Stop one of these processes. Its work fails, and the others continue. Whether the processes outside of your prefix stand still is not shown to you.',
    killed:
      'A process that is killed keeps its lease until the TTL is over, or until you steal its lock.',
    resolvedAdvice:
      'One wait failed with DEADLOCK, and the others continued. Take the locks in one order.',
    picture: (count: number) => `A ring of ${count} holders, each waiting for the next`,
  },
  silent: {
    chip: 'silent',
    row: (count: string) => `${count} silent`,
    rowTitle: (count: string) =>
      count === '1'
        ? '1 process waits, but has left the queue'
        : `${count} processes wait, but have left the queue`,
    note: 'The leases of a silent process show that it waits here, but its claim has left the queue. It stands still, hangs, or has lost the store.',
    renewed: (age: string) => `lease granted or renewed ${age} ago`,
  },
  late: {
    title: (count: number) => (count === 1 ? 'A renewal is late' : `${count} renewals are late`),
    advice: 'These holders renewed before. Each one hangs, lost the store, or stands still.',
    left: (left: string) => `ends in ${left}`,
    ended: 'has ended',
  },
  old: {
    title: (count: number, warn: string) =>
      count === 1
        ? `A lock with waiters older than ${warn}`
        : `${count} locks with waiters older than ${warn}`,
    wait: (count: string, oldest: string) =>
      count === '1' ? `1 waits, for ${oldest}` : `${count} wait, up to ${oldest}`,
    advice: 'Beside each lock stands the holder in the way. Look at that process first.',
    free: 'no holder: the next wake-up is late',
  },
  stolen: {
    title: (count: number) =>
      count === 1 ? 'Stolen, but still held' : `${count} stolen locks are still held`,
    advice:
      'These holders were asked to let go. Each lock is free when its holder lets go, or when its lease ends.',
    left: (left: string) => `free in ${left} at the latest`,
  },
  noLeader: {
    title: (count: number) =>
      count === 1 ? 'An election without a leader' : `${count} elections without a leader`,
    candidates: (count: string, since: string) => `${several(count, 'candidate')}, for ${since}`,
  },
  slow: {
    title: 'The store is slow',
    text: (latency: string, since: string) => `A look takes ${latency}. Slow for ${since}.`,
  },
  away: {
    title: 'The store does not answer',
    text: (since: string) => `No answer for ${since}. Below is the last look.`,
    findings: 'What doctor finds',
    recovers: 'The page recovers by itself.',
  },
}

export type TroubleTexts = typeof enTrouble
