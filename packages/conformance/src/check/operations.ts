/** Reads and writes of the counter, each from its request to its answer. */
import type { HistoryEvent } from '../history/index.js'
import type { Trail } from './violation.js'

export interface Operation {
  readonly key: string
  readonly pid: number
  readonly client: string
  readonly f: 'write' | 'read'
  readonly token: bigint | undefined
  /** The largest token that the resource had seen, by its own answer. */
  readonly fence: bigint | undefined
  readonly value: number | undefined
  readonly invokedNs: bigint
  /** Undefined while the outcome is unknown. */
  readonly answeredNs: bigint | undefined
  /** `info` also without an answer. */
  readonly outcome: 'ok' | 'fail' | 'info'
  readonly trail: Trail
}

/** @param events in the order of time */
export function operationsOf(events: readonly HistoryEvent[]): Operation[] {
  const done: Operation[] = []
  const open = new Map<string, HistoryEvent>()
  for (const event of events) {
    if (event.f !== 'write' && event.f !== 'read') continue
    const actor = JSON.stringify([event.pid, event.client, event.key, event.f])
    const request = open.get(actor)
    if (event.type === 'invoke') {
      if (request) done.push(operation(request))
      open.set(actor, event)
    } else {
      open.delete(actor)
      done.push(operation(request ?? event, event))
    }
  }
  return [...done, ...[...open.values()].map((request) => operation(request))]
}

function operation(request: HistoryEvent, answer?: HistoryEvent): Operation {
  const outcome = answer === undefined || answer.type === 'invoke' ? 'info' : answer.type
  const asked = { event: request, before: undefined }
  return {
    key: request.key,
    pid: request.pid,
    client: request.client,
    f: request.f as 'write' | 'read',
    token: request.token ?? answer?.token,
    fence: answer?.fence,
    value: answer?.value ?? request.value,
    invokedNs: request.t_ns,
    answeredNs: outcome === 'info' ? undefined : answer?.t_ns,
    outcome,
    trail: answer && answer !== request ? { event: answer, before: asked } : asked,
  }
}
