/** Who owns which slot, as far as is known. */
import { textOf } from '../../wire/answers.js'
import type { Address } from '../transports/transport.js'
import { SLOTS } from './slots.js'

export class Topology {
  #owners: (Address | undefined)[] = Array.from({ length: SLOTS })
  #known: readonly Address[] = []

  /** Whether nothing is known yet. */
  get isEmpty(): boolean {
    return this.#known.length === 0
  }

  /** Every member, replicas included. */
  get known(): readonly Address[] {
    return this.#known
  }

  ownerOf(slot: number): Address | undefined {
    return this.#owners[slot]
  }

  /** The names of all members that own slots. */
  owners(): Map<string, Address> {
    return new Map(this.firstSlots().map(({ owner }) => [nameOf(owner), owner]))
  }

  /** The first slot of each member that owns slots, in order. */
  firstSlots(): { readonly slot: number; readonly owner: Address }[] {
    const found = new Map<string, { readonly slot: number; readonly owner: Address }>()
    let last: Address | undefined
    for (const [slot, owner] of this.#owners.entries()) {
      // Slots are owned in long ranges.
      if (owner === last) continue
      last = owner
      if (owner && !found.has(nameOf(owner))) found.set(nameOf(owner), { slot, owner })
    }
    return [...found.values()]
  }

  /** A member said that another one owns the slot. */
  learn(slot: number, owner: Address): void {
    this.#owners[slot] = owner
  }

  /**
   * Takes over what a member answered to CLUSTER SLOTS.
   * @param asked stands for members whose address the answer leaves out
   */
  load(reply: unknown, asked: Address | undefined): void {
    const owners: (Address | undefined)[] = Array.from({ length: SLOTS })
    const known: Address[] = []
    for (const range of reply as readonly unknown[]) {
      const [first, last, ...members] = range as readonly unknown[]
      const [owner, ...replicas] = members.map((member) => readMember(member, asked))
      if (owner) owners.fill(owner, Number(textOf(first)), Number(textOf(last)) + 1)
      for (const member of [owner, ...replicas]) if (member) known.push(member)
    }
    if (known.length === 0) throw new Error('CLUSTERDOWN No member of the Cluster owns any slot')
    this.#owners = owners
    this.#known = known
  }
}

export function nameOf({ host, port }: Address): string {
  return `${host}:${port}`
}

/**
 * An address as it stands in a redirection, such as `127.0.0.1:6379`, or `:6379` for the host of
 * the member that redirects.
 */
export function readAddress(text: string, saidBy: Address): Address | undefined {
  const colon = text.lastIndexOf(':')
  const port = Number(text.slice(colon + 1))
  if (colon < 0 || !Number.isInteger(port) || port < 1) return undefined
  return { host: text.slice(0, colon) || saidBy.host, port }
}

/** `[host, port, id, ...]`; the host may be empty, or unknown (`?`). */
function readMember(member: unknown, asked: Address | undefined): Address | undefined {
  const [host, port] = member as readonly unknown[]
  const text = host === null || host === undefined ? '' : textOf(host)
  const known = text === '' || text === '?' ? asked?.host : text
  return known === undefined ? undefined : { host: known, port: Number(textOf(port)) }
}
