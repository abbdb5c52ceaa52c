/** Whether this machine has what the service of a store needs. */
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** @param needed a program on the path, or a file; a star in it stands for the name of a folder */
export function isThere(needed: string): boolean {
  if (!needed.startsWith('/')) {
    const folders = (process.env['PATH'] ?? '').split(delimiter)
    return folders.some((folder) => existsSync(join(folder, needed)))
  }
  const [above = '', below] = needed.split('*')
  if (below === undefined) return existsSync(needed)
  return (
    existsSync(above) && readdirSync(above).some((name) => existsSync(join(above, name, below)))
  )
}
