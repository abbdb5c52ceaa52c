/** Says what is missing before anything is started. */
import { canStallDisks } from '@holdfast/servers/disk'
import { canHaveNetwork } from '@holdfast/servers/network'
import { NEWEST_ETCD } from '@holdfast/servers/etcd'
import { hasNewest } from '@holdfast/servers/newest'
import { storeOf } from '@holdfast/stores'
import { FAULTS, type AnyFaultKind } from '@holdfast/stores/faults/catalogue'
import { isThere } from '@holdfast/stores/installed'
import type { SubjectName } from '../protocol.js'

export class MissingError extends Error {
  override readonly name = 'MissingError'
}

/** @throws MissingError saying what to install. */
export function preflight(
  store: string,
  kinds: readonly AnyFaultKind[],
  subjects: readonly SubjectName[],
): void {
  if (subjects.includes('command-line') && (process.platform !== 'linux' || !isThere('flock'))) {
    throw new MissingError(
      'The command line is tried on Linux, and needs flock. On Debian: apt-get install util-linux.',
    )
  }
  for (const [needed, debian] of storeOf(store).service.needs ?? []) {
    if (isThere(needed)) continue
    throw new MissingError(
      `The store ${store} needs ${needed}, which is not installed. On Debian: apt-get install ${debian}; or choose others with --store.`,
    )
  }
  for (const kind of kinds) checkFault(kind)
}

/** @throws MissingError when this machine cannot do what the fault does. */
function checkFault(kind: AnyFaultKind): void {
  const { needs } = FAULTS[kind]
  if ((needs === 'root' || needs === 'network') && process.getuid?.() !== 0) {
    throw new MissingError(
      `The fault ${kind} needs root. Run this as root, or leave it out of --faults.`,
    )
  }
  if (needs === 'network' && !canHaveNetwork()) {
    throw new MissingError(
      `The fault ${kind} needs a network of its own: \`unshare --net ip link set lo up\` does not work here. ` +
        'On Debian: apt-get install util-linux iproute2; or leave it out of --faults.',
    )
  }
  if (needs === 'disks' && !canStallDisks()) {
    throw new MissingError(
      `The fault ${kind} needs root, mkfs.ext4, a loop device and fsfreeze. On Debian: apt-get install e2fsprogs mount util-linux; ` +
        'or leave it out of --faults.',
    )
  }
  if (needs === 'disks' && !hasNewest(NEWEST_ETCD)) {
    throw new MissingError(
      `The fault ${kind} needs the newest etcd, since etcd before 3.4.31 ends live sessions after it: ` +
        'npm run servers:newest -- etcd; or leave it out of --faults.',
    )
  }
  if (needs === 'gcc' && !isThere('gcc')) {
    throw new MissingError(
      `The fault ${kind} needs gcc. On Debian: apt-get install gcc libc6-dev; or leave it out of --faults.`,
    )
  }
}
