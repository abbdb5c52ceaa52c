/**
 * `holdfast/embedded`: locks among the processes of one machine, kept in a SQLite file. Nothing to
 * install.
 */
import { accessSync, constants } from 'node:fs'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import type { Store } from '../../store/contract.js'
import { chooseFolder, FILES, prepareFolder } from './directory.js'
import { fileSystemName } from './file-systems.js'
import { thisMachine, type Machine } from './machine.js'
import { EmbeddedStore } from './store.js'

export { defaultDirectory, SYSTEM_DIRECTORY } from './directory.js'

/** Where the state of an embedded store is kept. */
export interface EmbeddedStoreOptions {
  /**
   * The folder of the state. Programs that are to exclude each other must use the same one.
   * Default: the user's own.
   */
  readonly directory?: string | undefined
  /** One folder for all users of this machine, `/var/lib/holdfast`, made by root. Default false. */
  readonly system?: boolean | undefined
  /** @internal The machine, for tests of boots and clocks. */
  readonly machine?: Machine | undefined
}

const KEYS: KnownKeys<EmbeddedStoreOptions> = { directory: 1, system: 1, machine: 1 }

/**
 * Makes a store on this machine. The folder and the file are opened, and made, when the store is
 * first used.
 * @throws LockUsageError when the options make no sense or contradict each other.
 * @throws StoreUnavailableError (`STORE_CONFIG`) without a directory for a user who has no home
 * folder.
 */
export function embeddedStore(options: EmbeddedStoreOptions = {}): Store {
  checkKeys('embeddedStore', options, KEYS, { store: 'embedded' })
  const machine = options.machine ?? thisMachine()
  return new EmbeddedStore(chooseFolder(options, machine), machine)
}

/** What `doctor` reports about an embedded store. */
export interface EmbeddedDiagnosis {
  readonly directory: string
  /** The file that says how the state is laid out. */
  readonly database: string
  /** How many database files keep the locks. */
  readonly files: number
  readonly engine: string
  readonly sqliteVersion: string
  readonly journal: string
  readonly fileSystem: string
  readonly writable: boolean
  readonly bootId: string
  /** The store's clock, in milliseconds since the boot. */
  readonly clockMs: number
}

/**
 * Opens the store's folder and looks at it.
 * @throws StoreUnavailableError (`STORE_CONFIG`) saying what is wrong with it.
 */
export async function diagnose(options: EmbeddedStoreOptions = {}): Promise<EmbeddedDiagnosis> {
  checkKeys('diagnose', options, KEYS, { store: 'embedded' })
  const machine = options.machine ?? thisMachine()
  const folder = chooseFolder(options, machine)
  prepareFolder(folder, machine)
  const store = new EmbeddedStore(folder, machine)
  try {
    const { engine, sqliteVersion, journal } = await store.describeDatabase()
    return {
      directory: folder.directory,
      database: folder.layout,
      files: FILES,
      engine,
      sqliteVersion,
      journal,
      fileSystem: fileSystemName(folder.directory),
      writable: isWritable(folder.directory),
      bootId: machine.bootId,
      clockMs: machine.monotonicMs(),
    }
  } finally {
    await store.close()
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
