/**
 * The variants of the model: how each is built, what is asserted, and whether that holds.
 * @typedef {{ model: string, name: string, says: string, defines: readonly string[], holds: boolean
 * }} Variant
 */

const LEASE = 'lease-fence.pml'
const TOKEN = 'redlock-token.pml'
const SESSION = 'zookeeper-session.pml'

/** @type {readonly Variant[]} */
export const VARIANTS = [
  {
    model: LEASE,
    name: 'fenced',
    says: 'With a fence on reads and writes nothing stale is accepted, no increment is lost, and a client that sees its deadline ahead has the lock alone',
    defines: ['FENCE=2', 'STALE', 'LOST', 'WITHIN', 'AT_CHECK'],
    holds: true,
  },
  {
    model: LEASE,
    name: 'unfenced',
    says: 'Without a fence the counter accepts a stale write',
    defines: ['FENCE=0', 'STALE'],
    holds: false,
  },
  {
    model: LEASE,
    name: 'unfenced-counter',
    says: 'Without a fence an increment is lost',
    defines: ['FENCE=0', 'LOST'],
    holds: false,
  },
  {
    model: LEASE,
    name: 'writes-fenced',
    says: 'A fence on writes alone keeps stale writes out',
    defines: ['FENCE=1', 'STALE'],
    holds: true,
  },
  {
    model: LEASE,
    name: 'writes-fenced-counter',
    says: 'A fence on writes alone loses an increment: the late write comes between the read and the write of the next holder',
    defines: ['FENCE=1', 'LOST'],
    holds: false,
  },
  {
    model: LEASE,
    name: 'use-without-pause',
    says: 'If no time passes between the look at the deadline and the use, no client uses beside another',
    defines: ['PAUSE=0', 'AT_USE'],
    holds: true,
  },
  {
    model: LEASE,
    name: 'use-after-pause',
    says: 'A pause between the look at the deadline and the use makes two believers',
    defines: ['PAUSE=1', 'AT_USE'],
    holds: false,
  },
  {
    model: LEASE,
    name: 'deadline-from-reply',
    says: 'A lease that is counted from the reply outlives the one in the store',
    defines: ['FROM_REPLY=1', 'AT_CHECK'],
    holds: false,
  },
  {
    model: LEASE,
    name: 'release-by-anyone',
    says: 'A release that does not look at the owner takes the lock from the next holder',
    defines: ['OWNER=0', 'WITHIN'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-seals',
    says: 'Seals make the tokens of Redlock unique, and larger than those of acquires that had returned, on nodes that keep their data',
    defines: ['WIPES=1'],
    holds: true,
  },
  {
    model: TOKEN,
    name: 'redlock-proposals',
    says: 'The same, if both clients propose a token, and two nodes follow it as far as their clocks allow',
    defines: ['WIPES=1', 'RAISES=0', 'PROPOSED=4', 'AHEAD=2'],
    holds: true,
  },
  {
    model: TOKEN,
    name: 'redlock-proposed-twice',
    says: 'A node must not vote with a proposed token that it gave before',
    defines: ['WIPES=0', 'PROPOSED=3', 'AHEAD=2', 'BLIND=1'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-clock-step',
    says: 'The same, if a clock steps back by no more than the time for which a node keeps its last token',
    defines: ['WIPES=0', 'RAISES=0', 'TICKS=2', 'STEP=1', 'KEEP=1'],
    holds: true,
  },
  {
    model: TOKEN,
    name: 'redlock-clock-leap',
    says: 'A clock that steps back further makes a node vote below a token that it sealed',
    defines: ['WIPES=0', 'RAISES=0', 'TICKS=2', 'STEP=2', 'KEEP=0'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-votes-alone',
    says: 'The largest vote alone is no token',
    defines: ['WIPES=0', 'SEALS=0'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-seals-anything',
    says: 'A node must not seal a token that is no larger than its last one',
    defines: ['WIPES=0', 'COMPARE=0'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-late-raise',
    says: 'A token that another claim raised the node to must not pass for an own one',
    defines: ['WIPES=0', 'CLAIM=0'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-forgets-at-once',
    says: 'A node must keep its last token until its clock has passed it',
    defines: ['WIPES=0', 'KEEP=-1'],
    holds: false,
  },
  {
    model: TOKEN,
    name: 'redlock-lost-data',
    says: 'A node that lost its data covers no token that it sealed before',
    defines: ['WIPES=1', 'KEPT=0'],
    holds: false,
  },
  {
    model: SESSION,
    name: 'zookeeper-answered-sign',
    says: 'A session of ZooKeeper lives for its timeout from a sign of life that was answered half a tick and a margin before an agreed request left',
    defines: ['RULE=2'],
    holds: true,
  },
  {
    model: SESSION,
    name: 'zookeeper-request',
    says: 'It does not live for its timeout less a tick from an agreed request: a follower that is cut off with its client has not handed the sign over',
    defines: ['RULE=0'],
    holds: false,
  },
  {
    model: SESSION,
    name: 'zookeeper-sent-sign',
    says: 'A sign of life that left so long before the request may have lingered on its way to the follower',
    defines: ['RULE=1'],
    holds: false,
  },
  {
    model: SESSION,
    name: 'zookeeper-late-ping',
    says: 'A leader that pings later than half a tick and the margin leaves the sign behind',
    defines: ['RULE=2', 'LATE=1'],
    holds: false,
  },
  {
    model: SESSION,
    name: 'zookeeper-one-word',
    says: 'A leader that was deposed must not vouch for the session by itself',
    defines: ['RULE=2', 'AGREED=0'],
    holds: false,
  },
]
