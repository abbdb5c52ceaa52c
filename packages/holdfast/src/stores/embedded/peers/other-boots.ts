/**
 * The folders of other boots beside a path.
 *
 * All processes of one kernel have the same boot, those of most containers included. LXC and
 * systemd-nspawn give each container a boot of its own. Its processes and those outside of it use
 * different files, so they must not use the folder at the same time. Each store lets its socket
 * listen first, and then looks for sockets of other boots. Of two stores that begin at once at
 * least one sees the other, and neither has been granted anything.
 */
import { lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { inUse } from '../database/other-boot.js'
import type { Machine } from '../folder/machine.js'
import { BOOT } from '../folder/make-beside.js'
import type { StateFolder } from '../folder/state-folder.js'
import type { Peers } from './peers.js'
import { SOCKET_SUFFIX } from './wake-up-socket.js'

/** A store that is refused itself is gone after this time. */
const GONE_AFTER_MS = 300
const PAUSE_MS = 20

/**
 * Removes what earlier boots left.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when processes of another boot are at work here.
 */
export async function refuseOtherBoots(
  folder: StateFolder,
  machine: Machine,
  peers: Peers,
): Promise<void> {
  const giveUpMs = machine.monotonicMs() + GONE_AFTER_MS
  for (const path of otherBoots(folder)) {
    while (await isInUse(path, peers)) {
      if (machine.monotonicMs() > giveUpMs) throw inUse(folder)
      await new Promise<void>((resolve) => void machine.timer(PAUSE_MS, resolve))
    }
    removeFilesOf(path)
  }
}

/** Not `join`, which would take `..` away. */
function otherBoots({ root, directory }: StateFolder): string[] {
  const own = basename(directory)
  const names = readdirSync(`${root}/..`).filter((name) => BOOT.test(name) && name !== own)
  return names.map((name) => `${root}/../${name}`)
}

async function isInUse(path: string, peers: Peers): Promise<boolean> {
  const alive = socketsOf(path).map((name) => {
    const socket = `${path}/s/${name}`
    const id = name.slice(0, -SOCKET_SUFFIX.length)
    return peers.mayListen(id, socket)
  })
  return (await Promise.all(alive)).includes(true)
}

function socketsOf(path: string): string[] {
  return namesIn(`${path}/s`).filter((name) => name.endsWith(SOCKET_SUFFIX))
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    // Another process has removed it.
    return []
  }
}

/** Another process may do the same, or do the rest. */
function removeFilesOf(path: string): void {
  try {
    // Another user may have put any folder there; root could remove what is in it.
    if (process.geteuid?.() === 0 && lstatSync(path).uid !== 0) return
    for (const name of socketsOf(path)) unlinkSync(`${path}/s/${name}`)
    rmdirSync(`${path}/s`)
    for (const name of namesIn(path)) if (name.startsWith('locks')) unlinkSync(`${path}/${name}`)
    rmdirSync(path)
  } catch {
    // What is left holds nothing.
  }
}
