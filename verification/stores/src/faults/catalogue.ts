/** What goes wrong: the names, what each does, and how one is drawn. */
import type { Dice } from '@holdfast/workload'

/** Faults of one lane follow one another; those of different lanes meet. */
export type Lane = 'process' | 'network' | 'server'

export interface FaultKindInfo {
  readonly lane: Lane
  readonly title: string
  /** What the machine must have for it. */
  readonly needs?: 'root' | 'gcc' | 'network' | 'disks'
  /** For how long its lane is quiet after it, in TTLs. Default: as after any fault. */
  readonly quietTtls?: number
}

const CATALOGUE = {
  pause: {
    lane: 'process',
    title: 'a holder’s process is stopped (SIGSTOP), often for longer than a lease',
  },
  kill: { lane: 'process', title: 'a holder’s process is killed; another one takes its place' },
  block: {
    lane: 'process',
    title:
      'a holder’s event loop is blocked beside the thread that renews, for shorter or longer than `blockedAtMostMs`; sometimes its process or the thread stops as well',
  },
  abandon: {
    lane: 'process',
    title:
      'all processes are killed, and none comes before the keys that they left have expired, one after the other',
    needs: 'gcc',
  },
  latency: { lane: 'network', title: 'messages take up to a third of the TTL' },
  'drop-replies': {
    lane: 'network',
    title: 'requests arrive, replies vanish; then the connections break',
  },
  'black-hole': {
    lane: 'network',
    title: 'what clients send vanishes in silence; then the connections break',
  },
  reset: { lane: 'network', title: 'all connections of a client break' },
  stall: {
    lane: 'server',
    title: 'the server is stopped (SIGSTOP) and resumes, often after the lease',
  },
  'server-kill': {
    lane: 'server',
    title: 'the server is killed (SIGKILL) and restarts with what it had kept',
  },
  'restart-empty': { lane: 'server', title: 'the server is killed and restarts with nothing' },
  flush: { lane: 'server', title: 'all data is deleted under running clients (FLUSHALL)' },
  'script-flush': { lane: 'server', title: 'the server forgets its scripts (SCRIPT FLUSH)' },
  oom: { lane: 'server', title: 'the server is out of memory and refuses what would need more' },
  'clock-forward': { lane: 'server', title: 'the server’s clock is set forward', needs: 'gcc' },
  'clock-back': { lane: 'server', title: 'the server’s clock is set back', needs: 'gcc' },
  failover: {
    lane: 'server',
    title: 'the server dies with writes that its replica never got, and the replica takes over',
  },
  'endpoint-moves': {
    lane: 'server',
    title:
      'another server that has everything takes over, and an address leads to it a while later; what is connected stays at the old server, which is of no more use',
  },
  'primary-kill': {
    lane: 'server',
    title: 'the primary is killed for good, its replica takes over, and it comes back as a replica',
  },
  'replica-kill': { lane: 'server', title: 'a replica is killed, and comes back' },
  'leader-kill': { lane: 'server', title: 'the member that leads is killed, and comes back' },
  'quorum-loss': {
    lane: 'server',
    title: 'all members but one are stopped: what is left is a minority',
  },
  'leader-isolated': {
    lane: 'server',
    title: 'the member that leads is cut off from the others, and clients reach all of them',
    needs: 'network',
  },
  'leader-deposed': {
    lane: 'server',
    title:
      'the others lose the member that leads and choose another; it hears nothing of that, and leads on',
    needs: 'network',
  },
  'leader-reset': {
    lane: 'server',
    title: 'the member that leads loses the others; they hear nothing of that, and follow on',
    needs: 'network',
  },
  'follower-isolated': {
    lane: 'server',
    title:
      'a member that follows is cut off together with half of the clients, right after one of them has renewed a long lease',
    needs: 'network',
  },
  'disk-stalled': {
    lane: 'server',
    title:
      'the disks of the member that leads and of one that follows it stall: what they write waits',
    needs: 'disks',
    // Each election gives all leases their whole TTL again, and would hide a renewal that counted
    // for nothing. So the sessions that outlive an election end before the next one.
    quietTtls: 2.2,
  },
  'disk-full': { lane: 'server', title: 'the disk of the state is full', needs: 'root' },
} as const satisfies Record<string, FaultKindInfo>

/**
 * What only a run of the command line can meet: it is made of a wrapper, its guardian, and the
 * command.
 */
const OF_RUNS = {
  'command-kill': { lane: 'process', title: 'the command is killed with its group' },
  'command-alone': {
    lane: 'process',
    title: 'the command is killed, and its children are not, as by the out-of-memory killer',
  },
  'guardian-kill': { lane: 'process', title: 'the guardian is killed' },
  orphan: {
    lane: 'process',
    title: 'the wrapper and the guardian are both killed; the command works on',
  },
  'at-limits': {
    lane: 'process',
    title: 'the guardian may open no file and start no process any more, and the wrapper is killed',
  },
  'command-pause': { lane: 'process', title: 'the command is stopped with its group' },
  'guardian-pause': { lane: 'process', title: 'the guardian is stopped' },
  freeze: {
    lane: 'process',
    title: 'wrapper, guardian and command are all stopped, for longer than a lease',
  },
  signal: { lane: 'process', title: 'the wrapper gets SIGTERM, SIGINT or SIGHUP' },
  suspend: { lane: 'process', title: 'the wrapper gets SIGTSTP, and resumes later' },
  'start-kill': {
    lane: 'process',
    title: 'the wrapper, the guardian or the command is killed while the command starts',
  },
  'late-gate': {
    lane: 'process',
    title:
      'the wrapper is stopped between the grant and the start of the command, for longer than the lease',
  },
} as const satisfies Record<string, FaultKindInfo>

export type FaultKind = keyof typeof CATALOGUE
export type RunFaultKind = keyof typeof OF_RUNS
export type AnyFaultKind = FaultKind | RunFaultKind
export const FAULTS: Readonly<Record<AnyFaultKind, FaultKindInfo>> = { ...CATALOGUE, ...OF_RUNS }
/** Those that the library can meet, each store by the table of promises. */
export const FAULT_KINDS = Object.keys(CATALOGUE) as readonly FaultKind[]
export const RUN_FAULT_KINDS = Object.keys(OF_RUNS) as readonly RunFaultKind[]

/** Whether they are driven in a network of their own. */
export function needNetwork(kinds: readonly AnyFaultKind[]): boolean {
  return kinds.some((kind) => FAULTS[kind].needs === 'network')
}

export function isFaultKind(name: string): name is FaultKind {
  return Object.hasOwn(CATALOGUE, name)
}

export function isRunFaultKind(name: string): name is RunFaultKind {
  return Object.hasOwn(OF_RUNS, name)
}

export interface Fault {
  readonly kind: AnyFaultKind
  /** From the beginning of the run, in milliseconds. */
  readonly atMs: number
  readonly forMs: number
  /** Which client it meets, or all of them. */
  readonly client: number | 'all'
  /** Which server it meets. */
  readonly server: number
  /** How long a message takes, of a `latency`; how far a clock is set; the rest: see `SIZES`. */
  /**
   * Of a `block`: after how long the process stops, or, below zero, the thread that renews; zero:
   * neither does.
   */
  readonly byMs: number
}

export interface FaultShape {
  readonly clients: number
  readonly servers: number
  readonly ttlMs: number
}

export function drawFault(dice: Dice, kind: AnyFaultKind, atMs: number, shape: FaultShape): Fault {
  const { ttlMs } = shape
  const client = dice.whole(0, shape.clients - 1)
  const all = dice.chance(0.3)
  const [forMs, byMs] = SIZES[kind](dice, ttlMs)
  return {
    kind,
    atMs: Math.round(atMs),
    forMs: Math.round(forMs),
    client: FAULTS[kind].lane === 'network' && all ? 'all' : client,
    server: dice.whole(0, Math.max(0, shape.servers - 1)),
    byMs: Math.round(byMs),
  }
}

type Size = readonly [forMs: number, byMs: number]

/** For how long a thread renews for a blocked event loop, in TTLs. */
export const BLOCKED_AT_MOST_TTLS = 2.5

/** Below the limit, beyond it, with a stop of the process, and with a stop of the thread. */
function drawBlock(dice: Dice, ttlMs: number): Size {
  const stopMs = dice.between(0.2, 1.2) * ttlMs
  return dice.pick<Size>([
    [dice.between(1, 2.2) * ttlMs, 0],
    [dice.between(1.05, 1.6) * BLOCKED_AT_MOST_TTLS * ttlMs, 0],
    [stopMs + dice.between(1.1, 1.8) * ttlMs, stopMs],
    [dice.between(0.6, 2.2) * ttlMs, -stopMs],
  ])
}

/** Half of a window is about the length of a lease, where the races are. */
const SIZES: Record<AnyFaultKind, (dice: Dice, ttlMs: number) => Size> = {
  pause: (dice, ttlMs) => [
    (dice.chance(0.7) ? dice.between(1, 1.9) : dice.between(0.2, 1)) * ttlMs,
    0,
  ],
  kill: (dice) => [dice.between(50, 800), 0],
  block: drawBlock,
  // Redis keeps the state of a lock for 60 s beyond a lease, and helper keys for up to a TTL more.
  // Between the two, only the leftovers of dead holders in the helper keys are there. The latest of
  // their leases end a TTL after the kill.
  abandon: (dice, ttlMs) => [dice.between(1.5, 3) * ttlMs, 60_000 + dice.between(1, 1.25) * ttlMs],
  latency: (dice, ttlMs) => [dice.between(300, 2000), dice.between(0.02, 0.33) * ttlMs],
  'drop-replies': (dice, ttlMs) => [dice.between(50, 1.1 * ttlMs), 0],
  'black-hole': (dice, ttlMs) => [dice.between(50, 1.3 * ttlMs), 0],
  reset: () => [0, 0],
  // Some come back when all that they knew of has ended.
  stall: (dice, ttlMs) => [
    (dice.chance(0.7) ? dice.between(0.1, 1.4) : dice.between(1.4, 2.5)) * ttlMs,
    0,
  ],
  'server-kill': (dice) => [dice.between(50, 1200), 0],
  'restart-empty': (dice) => [dice.between(50, 400), 0],
  flush: () => [0, 0],
  'script-flush': () => [0, 0],
  oom: (dice) => [dice.between(300, 2000), 0],
  'clock-forward': (dice, ttlMs) => [0, dice.between(0.3, 2) * ttlMs],
  'clock-back': (dice, ttlMs) => [0, -dice.between(0.3, 2) * ttlMs],
  failover: (dice) => [dice.between(100, 600), 0],
  // How long the address still leads to the old server; how long a member is of no use after that.
  'endpoint-moves': (dice, ttlMs) => [dice.between(0, 0.3) * ttlMs, dice.between(0.3, 1.5) * ttlMs],
  'primary-kill': () => [0, 0],
  'replica-kill': (dice) => [dice.between(50, 2000), 0],
  'leader-kill': (dice) => [dice.between(300, 2000), 0],
  'quorum-loss': (dice, ttlMs) => [dice.between(0.2, 1.3) * ttlMs, 0],
  'leader-isolated': (dice, ttlMs) => [dice.between(0.3, 1.8) * ttlMs, 0],
  // Longer than a leader leads on, and than sessions live that the others do not hear of.
  'leader-deposed': (dice, ttlMs) => [dice.between(3.2, 4.2) * ttlMs, 0],
  'leader-reset': (dice, ttlMs) => [dice.between(0.3, 1.8) * ttlMs, 0],
  // Longer than sessions live that the leader does not hear of.
  'follower-isolated': (dice, ttlMs) => [dice.between(3.8, 4.6) * ttlMs, 0],
  // Longer than an election, a late renewal and the end of a session that it did not reach.
  'disk-stalled': (dice, ttlMs) => [dice.between(1.5, 2.2) * ttlMs, 0],
  'disk-full': (dice) => [dice.between(300, 1500), 0],
  'command-kill': () => [0, 0],
  'command-alone': () => [0, 0],
  'guardian-kill': () => [0, 0],
  orphan: () => [0, 0],
  'at-limits': () => [0, 0],
  'command-pause': (dice, ttlMs) => [dice.between(0.3, 1.3) * ttlMs, 0],
  'guardian-pause': (dice, ttlMs) => [dice.between(0.3, 1.3) * ttlMs, 0],
  freeze: (dice, ttlMs) => [dice.between(0.9, 1.6) * ttlMs, 0],
  // Which signal.
  signal: (dice) => [0, dice.whole(0, 2)],
  suspend: (dice, ttlMs) => [dice.between(0.2, 1.5) * ttlMs, 0],
  // When within 12 ms, and which of three parts.
  'start-kill': (dice) => [0, dice.whole(0, 35)],
  'late-gate': (dice, ttlMs) => [dice.between(1.05, 1.5) * ttlMs, 0],
}
