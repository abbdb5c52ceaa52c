/** Does what the schedule says, and undoes it. */
import { eventually } from '@holdfast/servers/eventually'
import type { Wires } from '../run/wires.js'
import type { Action, Heal, ServerNode, Target, Tools } from '@holdfast/stores/faults/target'
import {
  isFaultKind,
  type AnyFaultKind,
  type Fault,
  type FaultKind,
} from '@holdfast/stores/faults/catalogue'

/** A contender, as the faults of processes see it. */
export interface Victim {
  /** Resolves when it holds a lock, or after a while: faults are to meet holders. */
  holding(): Promise<void>
  /** Resolves when it has exported a lease, or after a while. */
  exporting?(): Promise<void>
  /** Blocks the event loop, if it has one. */
  block?(fault: Fault): void
  /** Resolves when the event loop turns again. */
  woke?(): Promise<void>
  pause(): void
  resume(): void
  /** Resolves when the process is gone. */
  kill(): Promise<void>
  /** Starts another process in its place. */
  start(): Promise<void>
}

export interface Ground {
  readonly clients: readonly Victim[]
  readonly wires: Wires
  readonly target: Target
  readonly tools: Tools
  /** Faults that only what is tried here can meet. */
  readonly own?: Partial<Record<AnyFaultKind, (fault: Fault) => Promise<Heal>>>
}

/** Begins a fault, and gives what ends it. */
export async function inflict(fault: Fault, ground: Ground): Promise<Heal> {
  const its = ground.own?.[fault.kind]
  if (its) return its(fault)
  const own: Action | undefined = ground.target.actions[fault.kind]
  if (own) return own(fault, ground.tools)
  const general = isFaultKind(fault.kind) ? GENERAL[fault.kind] : undefined
  if (!general) throw new Error(`There is no way to drive ${fault.kind} here.`)
  return general(fault, ground)
}

const GENERAL: Partial<Record<FaultKind, (fault: Fault, ground: Ground) => Promise<Heal> | Heal>> =
  {
    async pause({ client }, { clients }) {
      const its = clients[Number(client)]
      await its?.holding()
      its?.pause()
      return () => its?.resume()
    },
    async kill({ client, atMs }, { clients }) {
      const its = clients[Number(client)]
      // Every second one strikes between an export and its adoption.
      if (its?.exporting && Math.floor(atMs) % 2 === 0) await its.exporting()
      else await its?.holding()
      await its?.kill()
      return () => its?.start()
    },
    block(fault, { clients }) {
      const its = clients[Number(fault.client)]
      its?.block?.(fault)
      return () => its?.woke?.()
    },
    /**
     * The clock advances while no client holds anything, so that it ends no lease early. The wires
     * hold new clients back until each has connected: then they meet what dead holders left,
     * however long a process takes to start. The server itself runs on, for other faults.
     */
    async abandon(fault, { clients, wires, target, tools }) {
      await clients[Number(fault.client)]?.holding()
      await Promise.all(clients.map((client) => client.kill()))
      const killedMs = performance.now()
      const before = clients.map((_, client) => connectionsOf(wires, client))
      for (const wire of wires.of('all')) wire.holdBack()
      const started = Promise.all(clients.map((client) => client.start()))
      try {
        await eventually('each new client has connected', () =>
          before.every((count, client) => connectionsOf(wires, client) > count),
        )
        const byMs = fault.byMs - (performance.now() - killedMs)
        const step = target.actions['clock-forward']
        for (const server of target.nodes.keys()) await step?.({ ...fault, byMs, server }, tools)
      } finally {
        for (const wire of wires.of('all')) wire.letIn()
      }
      await started
      return () => undefined
    },
    latency({ client, byMs }, { wires }) {
      for (const { faults } of wires.of(client))
        Object.assign(faults, { requestMs: byMs / 2, replyMs: byMs / 2 })
      return () => heal(client, wires)
    },
    'drop-replies'({ client }, { wires }) {
      for (const { faults } of wires.of(client)) faults.dropReplies = true
      return () => healBroken(client, wires)
    },
    'black-hole'({ client }, { wires }) {
      for (const { faults } of wires.of(client)) faults.dropRequests = true
      return () => healBroken(client, wires)
    },
    reset({ client }, { wires }) {
      for (const proxy of wires.of(client)) proxy.reset()
      return () => undefined
    },
    stall({ server }, { target }) {
      const node = nodeAt(target, server)
      node.signal('SIGSTOP')
      return () => node.signal('SIGCONT')
    },
    async 'server-kill'({ server }, { target }) {
      const node = nodeAt(target, server)
      await node.crash()
      return async () => void (await node.start())
    },
    'quorum-loss'({ server }, { target }) {
      const others = target.nodes.filter((_, index) => index !== server)
      for (const node of others) node.signal('SIGSTOP')
      return () => others.forEach((node) => node.signal('SIGCONT'))
    },
  }

function connectionsOf(wires: Wires, client: number): number {
  return wires.of(client).reduce((sum, { connections }) => sum + connections, 0)
}

function heal(client: number | 'all', wires: Wires): void {
  for (const proxy of wires.of(client)) proxy.heal()
}

/** What was swallowed leaves a hole in the stream: such a connection is of no more use. */
function healBroken(client: number | 'all', wires: Wires): void {
  heal(client, wires)
  for (const proxy of wires.of(client)) proxy.reset()
}

function nodeAt({ nodes }: Target, server: number): ServerNode {
  const node = nodes[server]
  if (!node) throw new Error(`There is no server ${server}.`)
  return node
}
