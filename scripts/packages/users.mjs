/** What users have: module systems, compilers, versions of Node. */
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeJson } from './files.mjs'
import { install, runCommand, setType } from './projects.mjs'
import { report, run } from './run.mjs'
import { checkNodeTest } from './test-runners.mjs'

const FIXTURES = join(import.meta.dirname, 'fixtures')
/** What Node before 22.13 needs for the embedded store. */
const SQLITE = '@photostructure/sqlite@1.2.1'
const NODES = ['20', '22', '24', '26']

/** Loads every entry both ways. @returns {Promise<string>} the folder of the project */
export async function checkModuleSystems(folder, tarballs) {
  const project = await install(folder, 'modules', [tarballs.holdfast, SQLITE, 'ioredis'])
  for (const name of ['require.cjs', 'import.mjs']) {
    cpSync(join(FIXTURES, name), join(project, name))
    report((await run(process.execPath, [name], { cwd: project })).trim())
  }
  await checkUncaught(project)
  await runCommand(project, process.execPath)
  report('the command')
  return project
}

/** An error that nothing catches is shown with its real name. */
async function checkUncaught(project) {
  cpSync(join(FIXTURES, 'uncaught.cjs'), join(project, 'uncaught.cjs'))
  const { message } = await run(process.execPath, ['uncaught.cjs'], { cwd: project }).then(
    (printed) => new Error(`The program ended without an error: ${printed}`),
    (error) => error,
  )
  if (!/^UnsupportedLockError: The memory store/m.test(message)) throw new Error(message)
  report('the name of an uncaught error')
}

/** Installs the package for all users: its command and its man page are found. */
export async function checkGlobal(folder, tarballs) {
  const prefix = join(folder, 'global')
  await run('npm', [
    'install',
    '--global',
    '--loglevel=error',
    '--prefix',
    prefix,
    tarballs.holdfast,
  ])
  await run(join(prefix, 'bin/holdfast'), ['--version'])
  readFileSync(join(prefix, 'share/man/man1/holdfast.1'))
  report('a global installation has the command and its man page')
}

/** Compiles one program under each setting that users have. */
export async function checkTypes(folder, tarballs) {
  const compilers = ['typescript5@npm:typescript@~5.9', 'typescript7@npm:typescript@7']
  const project = await install(folder, 'types', [
    tarballs.holdfast,
    '@types/node@22',
    ...compilers,
  ])
  cpSync(join(FIXTURES, 'types'), project, { recursive: true })
  /** @type {[string, Record<string, string>][]} */
  const settings = [
    ['typescript5', { module: 'commonjs', moduleResolution: 'node10' }],
    ['typescript5', { module: 'node16' }],
    ['typescript5', { module: 'nodenext' }],
    ['typescript5', { module: 'preserve', moduleResolution: 'bundler' }],
    ['typescript7', { module: 'node16' }],
    ['typescript7', { module: 'nodenext' }],
    ['typescript7', { module: 'preserve', moduleResolution: 'bundler' }],
  ]
  for (const type of ['commonjs', 'module']) {
    for (const [compiler, options] of settings) {
      setType(project, type)
      writeJson(join(project, 'tsconfig.json'), {
        compilerOptions: {
          ...options,
          target: 'es2022',
          strict: true,
          noEmit: true,
          types: ['node'],
          skipLibCheck: false,
        },
        include: ['program.ts'],
      })
      await run(process.execPath, [`node_modules/${compiler}/bin/tsc`, '-p', '.'], { cwd: project })
      report(`${compiler}, ${type}, ${Object.values(options).join(' + ')}`)
    }
  }
}

/** Runs the fixtures and the command on every supported Node: the npm package `node` has each. */
export async function checkNodes(project) {
  for (const node of NODES) {
    const args = ['-y', '-p', `node@${node}`, 'node']
    for (const file of ['require.cjs', 'import.mjs']) {
      await run('npx', [...args, file], { cwd: project })
    }
    await checkNodeTest(project, (more) => run('npx', [...args, ...more], { cwd: project }))
    await runCommand(project, 'npx', args)
    report(`Node ${node}`)
  }
}
