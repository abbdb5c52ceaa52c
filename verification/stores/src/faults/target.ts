/**
 * What is tortured: a private service with its servers, and what can be done to it beyond killing
 * and stopping.
 */
import type { Proxy } from '@holdfast/servers/proxy'
import type { AnyFaultKind, Fault } from './catalogue.js'
import type { Connection } from '../connection.js'

export interface ServerNode {
  readonly name: string
  readonly port: number
  /** SIGKILL; resolves when the process is gone. */
  crash(): Promise<void>
  /** Starts it again, and waits until it answers. */
  start(): Promise<unknown>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
}

/** Ends a fault. */
export type Heal = () => Promise<void> | void

/** Begins a fault, and gives what ends it. */
export type Action = (fault: Fault, tools: Tools) => Promise<Heal> | Heal

export interface Tools {
  /** Makes all connections of the clients break and lead to another port from now on. */
  redirect(server: number, port: number): void
  /** Makes new connections of the clients lead to another port. What is connected stays. */
  move(server: number, port: number): void
  reset(): void
  /** Lets every second client reach this server only: see `Wires.confine`. */
  confine(server: number): { wires: readonly Proxy[]; free: () => void }
  /**
   * The server has lost, by now, the leases that were granted before this moment of the shared
   * clock.
   */
  readonly forgot: (grantedBeforeNs: bigint) => void
}

export interface Target {
  readonly nodes: readonly ServerNode[]
  /** What a client connects to, with ports that lead to the nodes in their order. */
  connection(ports: readonly number[]): Connection
  readonly actions: Partial<Record<AnyFaultKind, Action>>
  /** Codes of errors that may reach users under a fault, beside those of an unreachable store. */
  readonly tolerated?: Partial<Record<AnyFaultKind, readonly string[]>>
  /** Ends everything and removes its files. */
  stop(): Promise<void>
}

/** As a service of test/servers is a node. */
export function nodeOf(
  name: string,
  port: number,
  service: {
    crash(): Promise<void>
    start(): Promise<unknown>
    kill(signal: NodeJS.Signals): void
  },
): ServerNode {
  return {
    name,
    port,
    crash: () => service.crash(),
    start: () => service.start(),
    signal: (signal) => service.kill(signal),
  }
}
