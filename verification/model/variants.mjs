/**
 * The variants of the model: how each is built, what is asserted, and whether that holds.
 * @typedef {{ name: string, says: string, defines: readonly string[], holds: boolean }} Variant
 */

/** @type {readonly Variant[]} */
export const VARIANTS = [
  {
    name: 'fenced',
    says: 'With a fence on reads and writes nothing stale is accepted, no increment is lost, and whoever sees its deadline ahead has the lock alone',
    defines: ['FENCE=2', 'STALE', 'LOST', 'WITHIN', 'AT_CHECK'],
    holds: true,
  },
  {
    name: 'unfenced',
    says: 'Without a fence the counter accepts a stale write',
    defines: ['FENCE=0', 'STALE'],
    holds: false,
  },
  {
    name: 'unfenced-counter',
    says: 'Without a fence an increment is lost',
    defines: ['FENCE=0', 'LOST'],
    holds: false,
  },
  {
    name: 'writes-fenced',
    says: 'A fence on writes alone keeps stale writes out',
    defines: ['FENCE=1', 'STALE'],
    holds: true,
  },
  {
    name: 'writes-fenced-counter',
    says: 'A fence on writes alone loses an increment: the late write comes between the read and the write of the next holder',
    defines: ['FENCE=1', 'LOST'],
    holds: false,
  },
  {
    name: 'use-without-pause',
    says: 'If no time passes between the look at the deadline and the use, nobody uses beside another',
    defines: ['PAUSE=0', 'AT_USE'],
    holds: true,
  },
  {
    name: 'use-after-pause',
    says: 'A pause between the look at the deadline and the use makes two believers',
    defines: ['PAUSE=1', 'AT_USE'],
    holds: false,
  },
  {
    name: 'deadline-from-reply',
    says: 'A lease that is counted from the reply outlives the one in the store',
    defines: ['FROM_REPLY=1', 'AT_CHECK'],
    holds: false,
  },
  {
    name: 'release-by-anyone',
    says: 'A release that does not look at the owner takes the lock from the next holder',
    defines: ['OWNER=0', 'WITHIN'],
    holds: false,
  },
]
