/** The packages for frameworks, as their users install them. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { writeJson } from './files.mjs'
import { install, setType } from './projects.mjs'
import { report, run } from './run.mjs'

const FIXTURES = join(import.meta.dirname, 'fixtures/fastify')

/** Loads the plugin from both module systems, serves requests, and compiles a program with it. */
export async function checkFastify(folder, tarballs) {
  const project = await install(folder, 'fastify', [
    tarballs.holdfast,
    tarballs.fastify,
    'fastify@5',
    'typescript@~5.9',
    '@types/node@22',
  ])
  cpSync(FIXTURES, project, { recursive: true })
  for (const file of ['require.cjs', 'import.mjs'])
    report(`@holdfast/fastify, ${(await run(process.execPath, [file], { cwd: project })).trim()}`)
  for (const type of ['commonjs', 'module']) {
    setType(project, type)
    writeJson(join(project, 'tsconfig.json'), {
      compilerOptions: {
        module: 'nodenext',
        target: 'es2023',
        strict: true,
        noEmit: true,
        types: ['node'],
      },
      include: ['program.ts'],
    })
    await run('npx', ['tsc', '-p', '.'], { cwd: project })
    report(`@holdfast/fastify, types, ${type}`)
  }
}
