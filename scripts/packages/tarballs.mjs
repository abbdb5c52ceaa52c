/** Makes the tarballs that would be published: `tarballs.mjs FOLDER` keeps them there. */
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROOT } from './files.mjs'
import { report, run } from './run.mjs'

const PACKAGES = ['holdfast', 'conformance', 'fastify', 'nestjs', 'lab']

/**
 * @param {string} folder where the tarballs go
 * @returns {Promise<Record<string, string>>} the tarball of each package
 */
export async function packAll(folder) {
  const tarballs = {}
  for (const name of PACKAGES) tarballs[name] = await pack(name, folder)
  return tarballs
}

async function pack(name, folder) {
  if (!existsSync(join(ROOT, 'packages', name, 'dist')))
    throw new Error(`packages/${name} is not built: run npm ci, or npm run build, first.`)
  const printed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: join(ROOT, 'packages', name),
    env: { npm_config_loglevel: 'silent' },
  })
  const [{ filename, size, unpackedSize, entryCount }] = JSON.parse(printed)
  report(`${name}: bytes packed`, `${size}, unpacked ${unpackedSize} in ${entryCount} files`)
  return join(folder, filename.replace('@', '').replace('/', '-'))
}

const [, program, folder] = process.argv
if (program === import.meta.filename && folder !== undefined) {
  mkdirSync(folder, { recursive: true })
  await packAll(resolve(folder))
}
