/** Checks an embedded store: the folder, its rights, the file system, the engine. */
import { diagnose } from '../../stores/embedded/diagnose.js'
import { embeddedOptions } from '../../url/embedded.js'
import { statfsSync, statSync } from 'node:fs'
import { formatDuration } from '../args/duration.js'
import { failure, ok, warning, type Finding } from './check.js'

/** With less free space than this a growing database fails soon. */
const LITTLE_SPACE = 16 * 1024 * 1024

export async function checkEmbedded(url: string): Promise<Finding[]> {
  try {
    const { directory, engine, sqliteVersion, journal, fileSystem, writable, bootId, clockMs } =
      await diagnose(embeddedOptions(url))
    return [
      rights(directory, writable),
      ok('file system', fileSystem),
      space(directory),
      ok('engine', `${engine}, SQLite ${sqliteVersion}, ${journal} journal`),
      ok('store clock', `${formatDuration(clockMs)} since the boot ${bootId}`),
    ]
  } catch (error) {
    return [failure('folder', error)]
  }
}

function rights(directory: string, writable: boolean): Finding {
  const { mode, uid } = statSync(directory)
  const text = `${directory}, owner ${uid}, mode ${(mode & 0o7777).toString(8)}`
  if (!writable)
    return failure('folder', { code: 'STORE_CONFIG', message: `${text}: you may not write to it` })
  const open = (mode & 0o002) !== 0 && (mode & 0o1000) === 0
  return open
    ? warning(
        'folder',
        `${text}: all users may write and it is not sticky, so any user can remove the locks (chmod +t)`,
      )
    : ok('folder', text)
}

function space(directory: string): Finding {
  const { bavail, bsize } = statfsSync(directory)
  const text = `${Math.floor((bavail * bsize) / 1024 / 1024)} MB left`
  return bavail * bsize < LITTLE_SPACE
    ? warning('space', `${text}: a full disk stops all locks`)
    : ok('space', text)
}
