/**
 * The JSON of locks. schema/output.v1.json describes it. Tokens are strings, since JSON numbers end
 * at 2^53. Times are those of this machine's clock, from the ages that the store reports.
 */
import type { HolderInfo, LockInfo, Owner, WaiterInfo } from '../../store/index.js'
import { modeOf, typeOf } from './holders.js'
import { redact } from '../../url/redact.js'
import { stdout } from './streams.js'

export const SCHEMA_VERSION = 1

/** @param nowMs the time at which the store answered */
export function lockJson(info: LockInfo, nowMs: number): object {
  return {
    name: info.lock,
    kind: typeOf(info),
    permits: info.kind === 'semaphore' ? info.capacity : null,
    lastToken: info.lastToken?.toString() ?? null,
    holders: info.holders.map((holder) => holderJson(info, holder, nowMs)),
    waiters: info.waiters.map((waiter) => waiterJson(info, waiter, nowMs)),
  }
}

function holderJson(info: LockInfo, holder: HolderInfo, nowMs: number): object {
  return {
    claimId: holder.claimId,
    ...ownerJson(holder.owner),
    ...modeJson(info, holder.weight),
    token: holder.token?.toString() ?? null,
    heldSince: isoTime(nowMs - holder.heldMs),
    heldMs: Math.round(holder.heldMs),
    expiresAt: isoTime(nowMs + holder.remainingMs),
    remainingMs: Math.round(holder.remainingMs),
    ttlMs: holder.ttlMs === undefined ? null : Math.round(holder.ttlMs),
    stolen: holder.stolen,
    stealReason: holder.stealReason ?? null,
    waitsFor: (holder.owner.waitsFor ?? []).map(({ lock, sinceMs }) => ({
      lock,
      waitingSince: isoTime(sinceMs),
    })),
  }
}

function waiterJson(info: LockInfo, waiter: WaiterInfo, nowMs: number): object {
  return {
    claimId: waiter.claimId,
    ...ownerJson(waiter.owner),
    ...modeJson(info, waiter.weight),
    waitingSince: isoTime(nowMs - waiter.waitedMs),
    waitedMs: Math.round(waiter.waitedMs),
  }
}

function modeJson(info: LockInfo, weight: number): object {
  const mode = modeOf(info, weight)
  return { mode, permits: mode === 'permits' ? weight : null }
}

function ownerJson(owner: Owner): object {
  return {
    clientId: owner.clientId,
    host: owner.host,
    pid: owner.pid,
    label: owner.label === undefined ? null : redact(owner.label),
    processGroup: owner.group?.pgid ?? null,
    localWaiters: owner.localWaiters ?? 0,
    election: owner.election === true,
  }
}

/** Returns a time as ISO 8601 in UTC. Null for one that no date can express. */
export function isoTime(ms: number): string | null {
  const date = new Date(Math.round(ms))
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** Returns the answer of a command as one line of JSON. */
export function answerText(value: object): string {
  return `${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...value })}\n`
}

/** Prints the answer of a command as one line of JSON. */
export function printAnswer(value: object): void {
  stdout().write(answerText(value))
}

export function printJson(value: object): void {
  stdout().write(`${JSON.stringify(value)}\n`)
}
