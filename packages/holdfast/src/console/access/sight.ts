/** Which locks a user may see, and the masks of all others. */
import { redact } from '../../url/redact.js'
import type { Owner } from '../../store/contract.js'
import type { CycleMember, OwnerView } from '../view.js'

/** Separators of names: a prefix that ends with one fits no name of a longer first part. */
const SEPARATOR = /[^\p{L}\p{N}]$/u
/** Longer texts were written by something else than Holdfast. */
const LONGEST_TEXT = 512
/** Each secret that `redact` finds stands beside one of these. Most texts have none of them. */
const MAY_HAVE_SECRETS = /[@?&]/

export const FOREIGN_OWNER: OwnerView = { host: '', pid: 0, isForeign: true }

/** A lock outside of the user's prefix, in a cycle or a chain. */
export const FOREIGN_MEMBER: CycleMember = { lock: '', owner: FOREIGN_OWNER, heldMs: 0 }

export class Sight {
  readonly prefix: string

  constructor(prefix = '') {
    this.prefix = prefix
  }

  /** Whether a name that begins with the prefix may belong to someone else's longer word. */
  get isLoose(): boolean {
    return this.prefix !== '' && !SEPARATOR.test(this.prefix)
  }

  sees(lock: string): boolean {
    return lock.startsWith(this.prefix)
  }
}

/** Returns an owner for people: no secrets of a command line, and no ids of clients. */
export function ownerView(
  owner: Pick<Owner, 'host' | 'pid' | 'label' | 'election' | 'localWaiters'>,
): OwnerView {
  const { host, pid, label, election, localWaiters = 0 } = owner
  return {
    host: shownText(host),
    pid,
    ...(label === undefined ? {} : { label: shownText(label) }),
    ...(election === true ? { isElection: true } : {}),
    ...(localWaiters > 0 ? { localWaiters } : {}),
  }
}

/** Returns a text that people wrote, without secrets. */
export function shownText(text: string): string {
  const cut = text.slice(0, LONGEST_TEXT)
  return MAY_HAVE_SECRETS.test(cut) ? redact(cut) : cut
}
