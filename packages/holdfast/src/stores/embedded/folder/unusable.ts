/** What an error says of a folder or file that cannot be used. */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { StoreUnavailableError } from '../../../errors.js'
import type { StateFolder } from './state-folder.js'

const ADVICE: Readonly<Record<StateFolder['kind'], string>> = {
  own: 'Make the folder writable for this user, or choose another one.',
  system: 'The folder for all users is made by root: run "holdfast doctor --system" as root once.',
  beside:
    'A lock on a path needs write access to the folder of that path. If this user has it, the owner of the ' +
    'state folder has to lock once more, which gives it the present mode of the folder around it.',
}

/** A typed error for a folder or file that cannot be used, saying what to do. */
export function unusable(folder: StateFolder, cause: unknown): StoreUnavailableError {
  if (isShortOfFiles()) {
    return new StoreUnavailableError(
      `The state folder ${folder.directory} cannot be used: this process can open no more files. ` +
        'Raise the limit (ulimit -n), or close some.',
      { store: 'embedded', cause },
    )
  }
  const reason = shownIn(folder, cause instanceof Error ? cause.message : String(cause))
  return new StoreUnavailableError(
    `The state folder ${folder.directory} cannot be used: ${reason}. ${ADVICE[folder.kind]}`,
    {
      code: 'STORE_CONFIG',
      store: 'embedded',
      cause,
    },
  )
}

/** Returns a text with the paths of the folder as people know them. */
export function shownIn({ root, directory }: StateFolder, text: string): string {
  return root === directory ? text : text.replaceAll(root, directory)
}

/** The database, its log, the index of the log, and the folder. */
const FILES_OF_DATABASE = 4

/** SQLite does not tell a shortage of descriptors from a file that it may not open. */
function isShortOfFiles(): boolean {
  const opened: number[] = []
  try {
    for (let count = 0; count < FILES_OF_DATABASE; count += 1) opened.push(openSync(devNull, 'r'))
    return false
  } catch (error) {
    return ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}
