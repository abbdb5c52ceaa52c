/** Every program of the pages compiles, and runs with the servers that it names. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, programOf, ROOT } from './samples/blocks.js'
import { LEFT_OUT, PAGES, pagesTogether, pagesWith, type Page } from './samples/pages.js'
import { Servers } from './samples/servers.js'

/** In the repository, whose packages the programs import. */
const folder = join(ROOT, `build/samples-${process.pid}`)
const run = promisify(execFile)
const LANGUAGES = ['ts', 'js']
const SUPPORT = ['reader.d.ts', 'reader.mjs', 'ports.mjs', 'object-store.mjs', 'my-store.d.ts']
const running = PAGES.filter(({ runsElsewhere }) => runsElsewhere === undefined)
/** Ticks of `reader.mjs` instead of those of a page. */
const [EACH_NIGHT, SOON] = ["'0 3 * * *'", 'tickSoon()']
let servers: Servers

beforeAll(async () => {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const name of ['ioredis', 'redis'])
    symlinkSync(join(ROOT, `node_modules/${name}6`), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of SUPPORT) cpSync(join(import.meta.dirname, 'samples', name), join(folder, name))
  const [history] = blocksOf('docs/internals/history.md', ['jsonl'])
  writeFileSync(join(folder, 'run.jsonl'), history?.code ?? '')
  servers = await Servers.start(new Set(running.flatMap((page) => page.servers ?? [])))
})

afterAll(async () => {
  await servers.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('no page with programs is missing', () => {
  const known = PAGES.map(({ path }) => path)
  const leftOut = pagesWith(LANGUAGES).filter((page) => page in LEFT_OUT)
  expect(leftOut.length).toBeGreaterThan(2)
  expect(pagesWith(LANGUAGES).toSorted()).toEqual([...known, ...leftOut].toSorted())
})

test('the programs compile', async () => {
  for (const page of PAGES.filter(({ untyped }) => untyped !== true))
    for (const [name, source] of programs([page], typed(page)))
      writeFileSync(join(folder, `${name}.ts`), source)
  const target = { module: 'nodenext', target: 'es2023', lib: ['es2023', 'esnext.disposable'] }
  const checks = { strict: true, skipLibCheck: true, noEmit: true, types: ['node'] }
  const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true }
  const config = { compilerOptions: { ...target, ...checks, ...decorators }, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const compiled = await run(process.execPath, [compiler, '-p', folder]).catch(
    (error: { readonly stdout: string }) => error,
  )
  expect(compiled.stdout).toBe('')
})

/** Samples in JavaScript on a page in TypeScript use another library too, and only run. */
function typed({ path }: Page): readonly string[] {
  return blocksOf(path, ['ts']).length > 0 ? ['ts'] : ['js']
}

test.each(pagesTogether(running).map((group) => [group.map(({ path }) => path), group] as const))(
  'the programs of %s run',
  async (_, group) => {
    const [page] = group
    const store = `embedded:${join(folder, nameOf(page))}`
    const env = {
      ...process.env,
      HOLDFAST_STORE: store,
      // Of `embeddedStore()` without a folder.
      XDG_STATE_HOME: join(folder, 'state'),
      // A server of a sample takes any free port.
      PORT: '0',
      LOCKS: page.locks === 'embedded:' ? store : page.locks,
      ...servers.envFor(page.servers ?? []),
    }
    const end = `${page.end ?? ''}\nconsole.log('end')\nprocess.exit()`
    for (const [name, source] of programs(group, LANGUAGES, end)) {
      const due = page.ticksSoon === true ? source.replaceAll(EACH_NIGHT, SOON) : source
      const { code } = await transform(due, {
        loader: 'ts',
        target: 'es2022',
        tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
      })
      writeFileSync(join(folder, `${name}.mjs`), code)
      const args = ['--import', './reader.mjs', `${name}.mjs`]
      const ended = await run(process.execPath, args, { cwd: folder, env, timeout: 60_000 }).catch(
        (error: { readonly stdout: string; readonly stderr: string }) => error,
      )
      expect(ended.stderr).toBe('')
      // A logger of the sample may write behind it.
      expect(ended.stdout.split('\n')).toContain('end')
    }
  },
)

/** Returns the programs of pages by their names. */
function programs(
  pages: readonly [Page, ...Page[]],
  languages: readonly string[],
  end = '',
): Map<string, string> {
  const [page] = pages
  const blocks = pages.flatMap(({ path }) => blocksOf(path, languages))
  const groups = page.apart === true ? blocks.map((block) => [block]) : [blocks]
  return new Map(groups.map((group, at) => [`${nameOf(page)}-${at + 1}`, programOf(group, end)]))
}

function nameOf({ path }: Page): string {
  return path.replaceAll('/', '-').replace('.md', '')
}
