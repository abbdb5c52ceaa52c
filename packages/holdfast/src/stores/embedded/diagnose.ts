/** What `holdfast doctor` reports about an embedded store. */
import { accessSync, constants } from 'node:fs'
import { checkKeys } from '../../options/known-keys.js'
import { chooseFolder, prepareFolder } from './folder/directory.js'
import { fileSystemName } from './folder/file-systems.js'
import { thisMachine } from './folder/machine.js'
import { FILES } from './folder/state-folder.js'
import { EMBEDDED_KEYS, type EmbeddedStoreOptions } from './options.js'
import { EmbeddedStore } from './store.js'

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
  checkKeys('diagnose', options, EMBEDDED_KEYS, { store: 'embedded' })
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
