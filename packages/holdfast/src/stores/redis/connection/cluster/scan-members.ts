/**
 * Scans the members of a Cluster one after the other, in the order of their first slots.
 *
 * The cursor is `<slot> <member> <cursor of the member>`. A scan's cursor means nothing to another
 * server. So when another member owns the slot, as after a failover, its scan begins again, and
 * keys come twice. Keys that move to a member that was scanned before are missed.
 */
import { LockUsageError } from '../../../../errors.js'
import { explain, STORE_NAME } from '../../errors.js'
import { scanKeys, type ScannedKeys } from '../scan-keys.js'
import { Refusal, type Member } from './member.js'
import type { Router } from './router.js'

interface Place {
  readonly slot: number
  readonly member: Member
  readonly cursor: string | undefined
}

/** Finds keys that fit a pattern, one step of the scan of one member. */
export async function scanMembers(
  router: Router,
  pattern: string,
  cursor: string | undefined,
): Promise<ScannedKeys> {
  const place = cursor === undefined ? await memberAfter(router, -1) : await read(router, cursor)
  if (!place) return { keys: [], cursor: undefined }
  const { slot, member } = place
  const found = await scanKeys(pattern, place.cursor, async (...args) => {
    const reply = await member.call(({ transport }) => transport.command('SCAN', ...args))
    if (!(reply instanceof Refusal)) return reply
    // Another member may own the slots by now.
    router.refreshSoon()
    throw explain(reply.error)
  })
  if (found.cursor !== undefined) {
    return { keys: found.keys, cursor: `${slot} ${member.name} ${found.cursor}` }
  }
  const next = await memberAfter(router, slot)
  return { keys: found.keys, cursor: next && `${next.slot} ${next.member.name} 0` }
}

async function memberAfter(router: Router, slot: number): Promise<Place | undefined> {
  const owners = await router.firstSlots()
  const next = owners.find((owner) => owner.slot > slot)
  return next && { ...next, cursor: undefined }
}

async function read(router: Router, text: string): Promise<Place> {
  const [slot = '', name, cursor] = text.split(' ')
  if (!/^\d{1,5}$/.test(slot)) {
    throw new LockUsageError('The cursor of this list is not of a Redis Cluster. Begin again.', {
      store: STORE_NAME,
    })
  }
  const member = await router.ownerOf(Number(slot))
  return { slot: Number(slot), member, cursor: member.name === name ? cursor : undefined }
}
