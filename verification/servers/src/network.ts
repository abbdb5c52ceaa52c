/**
 * A network of a process's own, in which the way between two servers can be cut while clients reach
 * both: Linux's network namespaces, for root. It ends with the process, so that there is nothing to
 * undo in the machine's own network.
 *
 * Servers that are to be cut off have a home: an address of the loopback, and a user. All packets
 * of that user come from that address, so that a rule about two addresses meets all connections
 * between two servers, in both directions.
 */
import { execFileSync } from 'node:child_process'

export interface Home {
  readonly host: string
  readonly uid: number
}

/** Homes for the members of a cluster of up to five. */
export const HOMES: readonly Home[] = [1, 2, 3, 4, 5].map((number) => ({
  host: `127.0.0.${number + 1}`,
  uid: 61_000 + number,
}))

/**
 * Rules are asked in this order: what is cut, where users come from, and then what the machine
 * knows by itself.
 */
const PRIORITY = { cut: 5, homes: 10, local: 100 } as const
const FIRST_TABLE = 100

/** What runs a command in a network of its own. */
export const IN_OWN_NETWORK = ['unshare', '--net'] as const

/** Whether this process may have one, and has the programs for it. */
export function canHaveNetwork(): boolean {
  try {
    const [command, ...args] = IN_OWN_NETWORK
    execFileSync(command, [...args, 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'pipe' })
    return true
  } catch {
    // Not root, not allowed, or not installed: what is asked is only whether.
    return false
  }
}

/** Called once, in a network that is new. */
export function layNetwork(homes: readonly Home[] = HOMES): void {
  ip(
    'link set lo up',
    `rule add pref ${PRIORITY.local} lookup local`,
    'rule del pref 0',
    ...homes.flatMap(({ host, uid }, index) => [
      `route add local 127.0.0.0/8 dev lo src ${host} table ${FIRST_TABLE + index}`,
      `rule add pref ${PRIORITY.homes} uidrange ${uid}-${uid} lookup ${FIRST_TABLE + index}`,
    ]),
  )
}

/**
 * Drops all packets between one and the others, silently. Returns a function that undoes it.
 */
export function cutOff(one: Home, others: readonly Home[]): () => void {
  const ways = others.flatMap(({ host }) => [
    `from ${one.host} to ${host}`,
    `from ${host} to ${one.host}`,
  ])
  ip(...ways.map((way) => `rule add pref ${PRIORITY.cut} ${way} blackhole`))
  return () => ip(...ways.map((way) => `rule del pref ${PRIORITY.cut} ${way} blackhole`))
}

/**
 * No message goes between these two groups any more, and only one group learns of it. Its
 * connections to the other are reset, and new ones are refused. Those of the other stay open and
 * hear nothing. Gives what undoes it.
 */
export function cutOneSided(heard: readonly Home[], unheard: readonly Home[]): () => void {
  const pairs = heard.flatMap((one) => unheard.map((other) => [one.host, other.host] as const))
  const rules = pairs.flatMap(([one, other]) => [
    `pref ${PRIORITY.cut} from ${one} to ${other} prohibit`,
    `pref ${PRIORITY.cut} from ${other} to ${one} blackhole`,
  ])
  ip(...rules.map((rule) => `rule add ${rule}`))
  // The reset that this sends to the other end is lost like all else.
  for (const [one, other] of pairs)
    execFileSync('ss', ['--kill', '--tcp', 'src', one, 'dst', other], { stdio: 'pipe' })
  return () => ip(...rules.map((rule) => `rule del ${rule}`))
}

function ip(...lines: readonly string[]): void {
  execFileSync('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n`, stdio: 'pipe' })
}
