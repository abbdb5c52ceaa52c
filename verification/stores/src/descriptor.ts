/** What tests, torture and benches know of a store: each module of `kinds/` exports one. */
import type { NewestServer } from '@holdfast/servers/newest'
import type { Service } from '@holdfast/servers/service'
import type { Skip } from '@holdfast/conformance'
import type { Store } from 'holdfast/store'
import type { Connection } from './connection.js'
import type { AnyFaultKind, FaultKind } from './faults/catalogue.js'
import type { Cell } from './faults/cells.js'
import type { Target } from './faults/target.js'

export interface StoreDescriptor {
  /** Names the store on command lines and in files: the name of the descriptor's module. */
  readonly name: string
  readonly title: string
  /** Where the store stands in lists: the smallest number comes first. */
  readonly order: number
  readonly service: StoreService
  /** How the conformance suite runs over the store. */
  readonly suite: SuiteTerms
  /**
   * The TTL of leases where processes of the previous version meet those of this one. Absent: the
   * store has no part in that.
   */
  readonly besidePreviousMs?: number
  /** Where the programs of the pages find the service. Absent: there are none. */
  readonly samples?: (at: readonly string[]) => SamplePlaces
  readonly torture: TorturedStore
}

export interface SuiteTerms {
  /** What is left out, and why. */
  readonly skip?: readonly Skip[]
  /** The verbs are atomic. Default: they are. */
  readonly atomicVerbs?: false
  /** How often the usual short TTL its cases need. Default: once. */
  readonly shortTtls?: number
  /** The suite runs on one Node alone: that of another store has the same client libraries. */
  readonly onOneNode?: true
  /** What part of the usual number of processes is killed. Default: all. */
  readonly kills?: number
  /** How many servers there are, where it can be chosen. Default: one. */
  readonly members?: number
  /** Opens stores with clients that are used again. Default: each has a client of its own. */
  readonly reuse?: (at: readonly string[], options: OpenOptions) => Promise<ReusedClients>
}

/** Clients that one store after the other uses. */
export interface ReusedClients {
  open(): Promise<Store>
  /** Ends the clients that no store uses: the service is about to go. */
  forgetIdle(): void
  endAll(): void
}

/** What leads a program of a page to the service of a test. */
export interface SamplePlaces {
  /** Where each `host:port` of the page leads; a port without a host stands for all hosts. */
  readonly ports?: Readonly<Record<string, number>>
  readonly env?: Readonly<Record<string, string>>
}

/** How tests start the service of a store, and how programs use the store there. */
export interface StoreService {
  /** What the service needs beside Node. Default: nothing. */
  readonly needs?: readonly Need[]
  /** The newest servers of Debian on which all tests of the store run as well. Default: none. */
  readonly newest?: readonly NewestServer[]
  /** The client libraries of the store; none where it has a client of its own. */
  readonly libraries: Libraries
  readonly start: (options?: ServiceOptions) => Promise<RunningService>
  /** Opens the store with a client of its own, and does not wait for a connection. */
  readonly open: (at: readonly string[], options: OpenOptions) => Promise<OpenStore>
  /** The store shows who waits. Default: it does. */
  readonly showsWaiters?: false
  /** Ending the clients takes as long as one of them waits for a grant. Default: it does not. */
  readonly endsAfterWaits?: true
}

export interface Libraries {
  /** What every run of the tests uses. */
  readonly daily: readonly string[]
  /** What the full plan uses as well. */
  readonly others?: readonly string[]
}

export interface ServiceOptions {
  /** Leaves a database without the tables of the store. */
  readonly empty?: boolean
  /** How many servers there are, where it can be chosen. Default: the fewest that do. */
  readonly members?: number
  /** The service serves many clients at a time. */
  readonly crowded?: boolean
}

/** A service that keeps its data while it is down. */
export interface RunningService {
  /** Where programs find it: what `open` takes. */
  readonly at: readonly string[]
  /** Kills it. */
  readonly down: () => Promise<unknown>
  readonly up: () => Promise<unknown>
  /** Ends it and removes its files. */
  readonly remove: () => Promise<unknown>
  /** Ends the connections of all clients, while the server stays up. */
  readonly cut?: () => Promise<unknown>
  /** Restarts what a client notices. Default: down, and up again. */
  readonly restart?: () => Promise<unknown>
  /** Members that choose a leader. */
  readonly cluster?: Cluster
  /** Asks the server for its version. One store of each newest server has it. */
  readonly version?: () => Promise<string>
}

export interface Cluster {
  readonly members: readonly Service[]
  /** Resolves to the index of the leading member. */
  leader(): Promise<number>
}

export interface OpenOptions {
  /** One of the client libraries of the store, or undefined where there is none. */
  readonly library: string | undefined
  readonly load: LoadModule
  /** Lets the store make its own tables. */
  readonly migrate?: boolean
  /** Many clients make the machine slow. */
  readonly crowded?: boolean
}

export interface OpenStore {
  readonly store: Store
  /** Resolves when the clients are connected. Absent: nothing is known of that. */
  readonly ready?: () => Promise<unknown>
  /** Closes the clients that the store was given, at once. The store leaves them open. */
  readonly end: () => Promise<unknown> | void
  /** Closes the clients as a program does that has done its work. Default: `end`. */
  readonly quit?: () => Promise<unknown>
}

/**
 * Loads a store's module of the library under test, such as `redis`: another version, or a copy
 * that is broken on purpose.
 */
export type LoadModule = <Module>(name: string) => Promise<Module>

/** What the store promises under each fault. */
export type Promises = Readonly<Record<FaultKind, Cell>>

/** A program on the path or a file (`installed.ts`), and Debian's package that has it. */
export type Need = readonly [needed: string, debian: string]

/** How the torture tries the store, and what is promised. */
export interface TorturedStore {
  readonly ttlMs: number
  /** Processes that contend. What lives in one process has one. */
  readonly clients: number
  /** How many servers there are. */
  readonly servers: number
  /**
   * How long a waiter may wait after everything was healed, in milliseconds. It includes the lease
   * of a dead holder, the heartbeats of dead waiters, the re-attempt floor, a round trip and a
   * hand-off. It also includes the time in which the service itself comes back.
   */
  readonly boundMs: number
  /** Leases have fencing tokens. */
  readonly fenced: boolean
  /** The store shows its holders and waiters. */
  readonly inspects: boolean
  /** Leases can pass to another process. */
  readonly exports: boolean
  /** The store ends a wait of nested runs that would never end. */
  readonly findsDeadlocks: boolean
  /** The store has semaphores. */
  readonly counts: boolean
  readonly promises: Promises
  /** What Debian's newest server does not do, where older ones break a promise. */
  readonly mended?: MendedServer
  /** Starts the service. */
  readonly start: (options: TargetOptions) => Promise<Target>
  /**
   * Opens the store as a program would.
   * @param index of the process: client libraries take turns
   */
  readonly open: (connection: Connection, index: number, load: LoadModule) => Promise<OpenStore>
  /**
   * The URL by which the command line reaches the store. Absent where there is none, or one that
   * cannot lead through a proxy for each client.
   */
  readonly url?: (connection: Connection) => string
}

export interface MendedServer {
  readonly server: NewestServer
  /** The faults under which older servers break a promise. */
  readonly faults: readonly FaultKind[]
  /** What older servers do. */
  readonly because: string
}

export interface TargetOptions {
  /** The faults that it is to meet: some need a service that is started for them. */
  readonly kinds: readonly AnyFaultKind[]
  /** Whether Debian's newest server runs, where that makes a difference. */
  readonly newest: boolean
}

/** What most stores have in common. */
export const USUAL = {
  ttlMs: 1500,
  clients: 4,
  servers: 1,
  boundMs: 7000,
  fenced: true,
  inspects: true,
  exports: true,
  findsDeadlocks: true,
  counts: true,
} as const
