/**
 * Fails unless every package has one version and depends on that version of the others. With an
 * argument, that is the version: the release workflow passes its tag.
 */
import { join } from 'node:path'
import { ROOT, readJson } from './files.mjs'
import { report } from './run.mjs'

const FOLDERS = ['holdfast', 'conformance', 'fastify', 'nestjs', 'lab']

/** @param {string} [expected] default: the version of `holdfast` */
export function checkVersions(expected) {
  const manifests = FOLDERS.map((folder) =>
    readJson(join(ROOT, 'packages', folder, 'package.json')),
  )
  const version = expected ?? manifests[0].version
  for (const manifest of manifests) {
    const { name, dependencies = {}, peerDependencies = {} } = manifest
    const needed = dependencies.holdfast ?? peerDependencies.holdfast ?? version
    if (manifest.version !== version || needed !== version) {
      throw new Error(
        `${name} is ${manifest.version} and needs holdfast ${needed}: all packages have ${version}.`,
      )
    }
  }
  report('one version', version)
}

if (process.argv[1] === import.meta.filename) checkVersions(process.argv[2])
