/** The library under test: the built package, or a copy of it that is broken on purpose. */
import type { LoadModule } from '@holdfast/stores/descriptor'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

type Holdfast = typeof import('holdfast')

export interface Library extends Pick<Holdfast, 'createLocks' | 'onLockEvent' | 'isLockError'> {
  /** Loads a store's module, such as `redis`. */
  readonly store: LoadModule
}

export async function loadLibrary(copy: string | undefined): Promise<Library> {
  const folder = copy ?? dirname(fileURLToPath(import.meta.resolve('holdfast')))
  const load = async <Module>(file: string): Promise<Module> =>
    (await import(pathToFileURL(join(folder, file)).href)) as Module
  const { createLocks, onLockEvent, isLockError } = await load<Holdfast>('index.js')
  return { createLocks, onLockEvent, isLockError, store: (name) => load(`stores/${name}/index.js`) }
}
