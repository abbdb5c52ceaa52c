/**
 * Writes the API pages of the site from the types and docstrings of the sources, one page an entry:
 * `docs/reference/api/`, which Git ignores. A warning of TypeDoc fails, such as one about a type
 * that is used and not exported.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Application } from 'typedoc'
import { REPOSITORY } from './.vitepress/links.mjs'

const ROOT = join(import.meta.dirname, '..')
const OUT = join(ROOT, 'docs/reference/api')
const PACKAGES = ['holdfast', 'fastify', 'nestjs', 'conformance']

const app = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown', join(import.meta.dirname, 'typedoc-names.mjs')],
  entryPoints: PACKAGES.flatMap(sourcesOf),
  tsconfig: join(import.meta.dirname, 'tsconfig.reference.json'),
  name: 'API',
  basePath: ROOT,
  displayBasePath: ROOT,
  readme: 'none',
  // The build checks the types, with the compiler of the project.
  skipErrorChecking: true,
  out: OUT,
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  sourceLinkTemplate: `${REPOSITORY}/blob/main/{path}#L{line}`,
  disableGit: true,
  // Options of typedoc-plugin-markdown.
  router: 'module',
  entryFileName: 'README',
  excludeScopesInPaths: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  enumMembersFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideSources: true },
})
const project = await app.convert()
if (project === undefined || app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1)
app.validate(project)
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1)
rmSync(OUT, { recursive: true, force: true })
await app.generateOutputs(project)
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1)

/**
 * Returns the source of each entry of a package but those for the project's own packages.
 * @param {string} name
 */
function sourcesOf(name) {
  const folder = join(ROOT, 'packages', name)
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([entry, { types }]) =>
    types && entry !== './internal'
      ? [join(folder, types.replace('/dist/', '/src/').replace('.d.ts', '.ts'))]
      : [],
  )
}
