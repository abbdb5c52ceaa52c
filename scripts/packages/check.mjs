/**
 * Packs every package, installs the tarballs in empty folders, and uses them as users do.
 *
 * `npm run check:packages` tries every module system, compiler, test runner and runtime. With
 * `--quick`, as in the check, it stays on this Node, and Bun and Deno run one store's suite.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkBundlers } from './bundlers.mjs'
import { checkFastify } from './frameworks.mjs'
import { reportImportTime } from './import-time.mjs'
import { checkLints } from './lints.mjs'
import { checkNestStarters } from './nest-starters.mjs'
import { checkNext } from './next.mjs'
import { checkReadmes } from './readmes.mjs'
import { checkRuntimes } from './runtimes.mjs'
import { packAll } from './tarballs.mjs'
import { checkTestRunners } from './test-runners.mjs'
import { checkVersions } from './versions.mjs'
import { checkGlobal, checkModuleSystems, checkNodes, checkTypes } from './users.mjs'

const isQuick = process.argv.includes('--quick')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-pack-'))
try {
  checkVersions()
  const tarballs = await packAll(folder)
  await checkLints(tarballs)
  const project = await checkModuleSystems(folder, tarballs)
  await reportImportTime(project)
  await checkGlobal(folder, tarballs)
  await checkBundlers(folder, tarballs)
  await checkReadmes(project)
  await checkRuntimes(folder, tarballs, isQuick ? ['memory'] : undefined)
  if (!isQuick) {
    await checkTypes(folder, tarballs)
    await checkTestRunners(folder, tarballs)
    await checkFastify(folder, tarballs)
    await checkNext(folder, tarballs)
    await checkNestStarters(folder, tarballs)
    await checkNodes(project)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
