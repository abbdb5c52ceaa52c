/**
 * What `--json` prints about locks. Keys are stable; tokens are strings, since JSON numbers end at
 * 2^53.
 */
import type { HolderInfo, LockInfo, Owner, WaiterInfo } from 'holdfast/store'
import { redact } from './text.js'

export function lockJson(info: LockInfo): object {
  return {
    name: info.lock,
    kind: info.kind,
    capacity: info.capacity,
    lastToken: info.lastToken?.toString() ?? null,
    holders: info.holders.map(holderJson),
    waiters: info.waiters.map(waiterJson),
  }
}

function holderJson(holder: HolderInfo): object {
  return {
    claimId: holder.claimId,
    ...ownerJson(holder.owner),
    weight: holder.weight,
    token: holder.token?.toString() ?? null,
    heldMs: Math.round(holder.heldMs),
    remainingMs: Math.round(holder.remainingMs),
    stolen: holder.stolen,
    stealReason: holder.stealReason ?? null,
  }
}

function waiterJson(waiter: WaiterInfo): object {
  return {
    claimId: waiter.claimId,
    ...ownerJson(waiter.owner),
    weight: waiter.weight,
    waitedMs: Math.round(waiter.waitedMs),
  }
}

function ownerJson(owner: Owner): object {
  return {
    clientId: owner.clientId,
    host: owner.host,
    pid: owner.pid,
    label: owner.label === undefined ? null : redact(owner.label),
    processGroup: owner.group?.pgid ?? null,
    localWaiters: owner.localWaiters ?? 0,
  }
}

export function printJson(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
