/** Which faults this machine can drive. */
import { canStallDisks } from '@holdfast/servers/disk'
import { NEWEST_ETCD } from '@holdfast/servers/etcd'
import { canHaveNetwork } from '@holdfast/servers/network'
import { hasNewest } from '@holdfast/servers/newest'
import { FAULTS, type AnyFaultKind } from '@holdfast/stores/faults/catalogue'
import { isThere } from '@holdfast/stores/installed'

/**
 * What only root can do is left out of a mix, and refused with advice where it is asked for by
 * name.
 */
export function canBeDriven(kind: AnyFaultKind): boolean {
  const { needs } = FAULTS[kind]
  if (needs === 'network') return hasNetwork()
  if (needs === 'disks') return hasDisks()
  if (needs === 'gcc') return isThere('gcc')
  return needs !== 'root' || process.getuid?.() === 0
}

let network: boolean | undefined
let disks: boolean | undefined

function hasNetwork(): boolean {
  return (network ??= canHaveNetwork())
}

function hasDisks(): boolean {
  return (disks ??= hasNewest(NEWEST_ETCD) && canStallDisks())
}
