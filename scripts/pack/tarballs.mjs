/** Makes the tarballs that would be published: `tarballs.mjs FOLDER` keeps them there. */
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROOT } from './files.mjs'
import { run } from './run.mjs'
import { stageConformance, stageLibrary } from './stage.mjs'

/**
 * @param {string} folder where the tarballs go
 * @returns {Promise<Record<string, string>>} the tarball of each package
 */
export async function packAll(folder) {
  return {
    holdfast: await pack(await stageLibrary(), folder),
    conformance: await pack(await stageConformance(), folder),
    lab: await pack(join(ROOT, 'packages/lab'), folder),
  }
}

async function pack(source, folder) {
  const printed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: source,
    env: { npm_config_loglevel: 'silent' },
  })
  const [{ filename }] = JSON.parse(printed)
  return join(folder, filename.replace('@', '').replace('/', '-'))
}

const [, program, folder] = process.argv
if (program === import.meta.filename && folder !== undefined) {
  mkdirSync(folder, { recursive: true })
  console.log(Object.values(await packAll(resolve(folder))).join('\n'))
}
