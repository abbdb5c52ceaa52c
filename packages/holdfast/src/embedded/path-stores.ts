/**
 * The stores of this process in the state folders beside paths: one for each folder, for all paths
 * in it. A store that no path uses is closed after a while.
 */
import { outsideContext } from '../async/async-context.js'
import { systemClock } from '../clock/clock.js'
import { pause } from '../clock/pause.js'
import { Client } from '../lease/client.js'
import { closeClient, useStore } from '../locks/close.js'
import {
  findBeside,
  hasBeside,
  isBeingMade,
  keyOf,
  openBeside,
} from '../stores/embedded/folder/beside-folder.js'
import { locatePath, type LocatedPath } from '../stores/embedded/folder/locate-path.js'
import { thisMachine } from '../stores/embedded/folder/machine.js'
import { lockNameOf } from '../stores/embedded/folder/path-name.js'
import type { StateFolder } from '../stores/embedded/folder/state-folder.js'
import { unusable } from '../stores/embedded/folder/unusable.js'
import { EmbeddedStore } from '../stores/embedded/store.js'

/** A store is closed when two looks in a row find it unused. */
const LOOK_MS = 1000
/** Between two attempts to open a folder that another process makes. */
const MAKING_PAUSE_MS = 10

interface OpenedFolder {
  readonly key: string
  readonly folder: StateFolder
  readonly client: Client
  /** The calls that have not ended. */
  calls: number
  wasIdle: boolean
}

export class PathStores {
  /** By device and inode of the folder, so that a folder that was made again is another one. */
  readonly #opened = new Map<string, OpenedFolder>()

  /** Returns whether a process has made the state folder of a path. */
  hasState(path: string): boolean {
    return hasBeside(locatePath(path).parent)
  }

  /**
   * Calls `work` with the client of the state folder of a path, and the name of the lock there.
   * Settles as that does.
   */
  async use<T>(path: string, work: (client: Client, name: string) => Promise<T>): Promise<T> {
    const located = locatePath(path)
    // Without a turn of the event loop where it is open: callers keep their order.
    let opened = this.#find(located) ?? this.#open(located)
    while (!opened) {
      await pause(systemClock, MAKING_PAUSE_MS)
      opened = this.#find(located) ?? this.#open(located)
    }
    opened.calls += 1
    opened.wasIdle = false
    try {
      return await work(opened.client, nameOf(opened.folder, located.base))
    } finally {
      opened.calls -= 1
    }
  }

  #find({ parent }: LocatedPath): OpenedFolder | undefined {
    const key = findBeside(parent, thisMachine())
    return key === undefined ? undefined : this.#opened.get(key)
  }

  /** Returns undefined while another process makes the folder. */
  #open({ parent }: LocatedPath): OpenedFolder | undefined {
    const machine = thisMachine()
    let folder: StateFolder
    try {
      folder = openBeside(parent, machine)
    } catch (error) {
      if (isRefused(error) && isBeingMade(parent, machine)) return undefined
      throw error
    }
    // No caller's context may stay with what serves all of them.
    return outsideContext(() => {
      const store = new EmbeddedStore(folder, machine)
      const opened = {
        key: keyOf(folder),
        folder,
        client: new Client(store, {}),
        calls: 0,
        wasIdle: false,
      }
      useStore(store)
      this.#opened.set(opened.key, opened)
      this.#closeWhenIdle(opened)
      return opened
    })
  }

  #closeWhenIdle(opened: OpenedFolder): void {
    const look = (): void => {
      const isIdle = opened.calls === 0 && opened.client.leases.size === 0
      if (isIdle && opened.wasIdle) {
        this.#opened.delete(opened.key)
        // What stays behind is what a killed process leaves, and is removed as that is.
        closeClient(opened.client).catch(() => undefined)
        return
      }
      opened.wasIdle = isIdle
      this.#closeWhenIdle(opened)
    }
    systemClock.timer(LOOK_MS, look, true)
  }
}

function nameOf(folder: StateFolder, base: string): string {
  try {
    return lockNameOf(folder, base)
  } catch (error) {
    throw unusable(folder, error)
  }
}

function isRefused(error: unknown): boolean {
  return ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'EACCES'
}
