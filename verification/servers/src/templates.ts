/**
 * Files of servers that are made once for a run of the tests. Data folders are copied: a database
 * takes half a second of a processor to make one, and a copy takes a tenth of that.
 *
 * `HOLDFAST_TEMPLATES` names the folder that keeps them. Without it each one is made.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Makes the data folder, or copies the one that was made before for the same program.
 * @param program the path of what makes it, which names its template
 */
export function makeOrCopy(program: string, data: string, make: () => void): void {
  const templates = process.env['HOLDFAST_TEMPLATES']
  if (templates === undefined) return make()
  const template = join(templates, program.replaceAll('/', '_'))
  if (existsSync(template)) return copy(template, data)
  make()
  // Others may make it at the same time: the first one keeps its own, and a half copy has another
  // name.
  const own = `${template}.${process.pid}`
  copy(data, own)
  try {
    renameSync(own, template)
  } catch (error) {
    if (!existsSync(template)) throw error
    rmSync(own, { recursive: true })
  }
}

/**
 * Returns the path of a file that all processes of the run only read. The first caller makes it.
 * Returns nothing while another one makes it, or where it could not be made.
 * @param make writes the file to the path that it gets
 */
export async function makeOnce(
  name: string,
  make: (path: string) => Promise<void>,
): Promise<string | undefined> {
  const templates = process.env['HOLDFAST_TEMPLATES']
  if (templates === undefined) return undefined
  const file = join(templates, name)
  if (existsSync(file)) return file
  const own = `${file}.making`
  try {
    mkdirSync(own)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw error
  }
  await make(join(own, name))
  if (!existsSync(join(own, name))) return undefined
  renameSync(join(own, name), file)
  return file
}

/** Keeps owners and permissions, which databases check. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to], { stdio: 'pipe' })
}
