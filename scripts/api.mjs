/**
 * Writes one file of the public API for each entry of the published packages: `npm run api`. With
 * `--check` it writes nothing, and fails when a file differs from the sources. Each public name
 * needs a docstring. `holdfast/internal` is no public API, and has no file.
 */
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const check = process.argv.includes('--check')
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-api-'))
let failed = 0

const FOLDERS = ['holdfast', 'conformance', 'fastify', 'nestjs'].map((name) => `packages/${name}`)

for (const folder of FOLDERS) {
  const entries = entriesOf(folder)
  mkdirSync(join(root, folder, 'api'), { recursive: true })
  for (const [name, types] of entries) failed += report(folder, name, types)
  const known = new Set(entries.map(([name]) => `${name}.api.md`))
  for (const file of readdirSync(join(root, folder, 'api'))) {
    if (known.has(file)) continue
    console.error(`${folder}/api/${file}: no entry of the package. Delete the file.`)
    failed += 1
  }
}
rmSync(scratch, { recursive: true })
if (failed > 0 && check) console.error('Run npm run api, and look at the difference.')
process.exitCode = failed > 0 ? 1 : 0

/** @returns {[name: string, types: string][]} the entries that have types */
function entriesOf(/** @type {string} */ folder) {
  const { exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([entry, { types }]) =>
    types && entry !== './internal'
      ? [[entry === '.' ? 'index' : entry.slice(2).replaceAll('/', '-'), types]]
      : [],
  )
}

/** @param {string} folder @param {string} name @param {string} types @returns {number} faults */
function report(folder, name, types) {
  const packageFolder = join(root, folder)
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: join(packageFolder, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: packageFolder,
      mainEntryPointFilePath: join(packageFolder, types),
      compiler: { tsconfigFilePath: join(packageFolder, 'tsconfig.json') },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: join(packageFolder, 'api'),
        reportTempFolder: scratch,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
        compilerMessageReporting: { default: { logLevel: 'error' } },
      },
    },
  })
  const { apiReportChanged, errorCount } = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback: (message) => {
      message.handled = message.logLevel !== ExtractorLogLevel.Error
    },
  })
  const bare = namesWithoutDocstring(join(packageFolder, 'api', `${name}.api.md`))
  for (const line of bare) console.error(`${folder}/api/${name}.api.md: no docstring: ${line}`)
  const faults = errorCount + bare.length
  if (!apiReportChanged) return faults
  console.log(`${folder}/api/${name}.api.md ${check ? 'differs from the sources.' : 'is written.'}`)
  return check ? faults + 1 : faults
}

/** @returns {string[]} the declarations of the public names that have no docstring */
function namesWithoutDocstring(/** @type {string} */ file) {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/^\/\/ @public \(undocumented\)\n(.*)/gm)].map(([, line = '']) => line)
}
