/** Runs every sample of both READMEs, from the installed package. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRedis } from '@holdfast/servers/redis'
import { ROOT } from './files.mjs'
import { report, run } from './run.mjs'

/** @param {string} project where `holdfast` and `ioredis` are installed */
export async function checkReadmes(project) {
  const redis = await startRedis()
  try {
    for (const page of ['README.md', 'README.zh-CN.md', 'packages/holdfast/README.md']) {
      await runPrograms(project, page, redis.port)
      await runCommandLines(project, page)
    }
  } finally {
    await redis.stop()
  }
}

/** Runs the programs of a page as one, since the later ones use what the first one made. */
async function runPrograms(project, page, port) {
  const programs = blocks(page, 'js')
  const file = join(project, 'readme.mjs')
  const preload = join(project, 'readme-preload.cjs')
  writeFileSync(file, `${programs.join('\n')}\nconsole.log('end')\nprocess.exit()\n`)
  writeFileSync(preload, preloadFor(port))
  const output = await run(process.execPath, ['--require', preload, file], { cwd: project })
  if (!output.endsWith('end\n')) throw new Error(`The programs of ${page} printed:\n${output}`)
  report(`the programs of ${page}`)
}

/** Gives the samples the functions of the reader's shop, and a Redis on the usual port. */
function preloadFor(port) {
  return `
    const { Socket } = require('node:net')
    const connect = Socket.prototype.connect
    Socket.prototype.connect = function (...args) {
      const [options] = Array.isArray(args[0]) ? args[0] : args
      if (options.port === 6379) options.port = ${port}
      return connect.apply(this, args)
    }
    globalThis.load = async (id) => ({ id })
    globalThis.ship = async () => {}
    globalThis.markShipped = async () => {}
  `
}

/** Runs the lines that begin with \`holdfast\`, with a backup script and a make of their own. */
async function runCommandLines(project, page) {
  const lines = blocks(page, 'sh')
    .flatMap((block) => block.split('\n'))
    .filter((line) => line.startsWith('holdfast '))
  if (lines.length === 0) return
  const bin = join(project, 'node_modules/.bin')
  const stubs = join(project, 'stubs')
  mkdirSync(stubs, { recursive: true })
  for (const path of [join(project, 'backup.sh'), join(stubs, 'make')]) {
    writeFileSync(path, '#!/bin/sh\necho done\n')
    chmodSync(path, 0o755)
  }
  const env = {
    PATH: `${stubs}:${bin}:${process.env.PATH}`,
    HOLDFAST_STORE: `embedded:${join(project, 'locks')}`,
  }
  for (const line of lines) await run('sh', ['-ec', line], { cwd: project, env })
  report(`${lines.length} command lines of ${page}`)
}

function blocks(page, language) {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code]) => code,
  )
}
