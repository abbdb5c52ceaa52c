/** Every command of the pages runs as it stands, in a shell; `npm` and `npx` are stand-ins. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type EtcdCluster, startEtcd } from '@holdfast/servers/etcd'
import { freePorts } from '@holdfast/servers/ports'
import { type RedisServer, startRedis } from '@holdfast/servers/redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOf, ROOT } from './samples/blocks.js'
import { LEFT_OUT, pagesWith } from './samples/pages.js'

/** In the repository, whose packages the programs import. */
const folder = join(ROOT, `build/commands-${process.pid}`)
const run = promisify(execFile)
const LANGUAGES = ['sh', 'crontab']
const HOLDFAST = join(ROOT, 'packages/holdfast/bin/holdfast.cjs')
const NPM = join(import.meta.dirname, 'samples/npm.mjs')

/** Programs that the pages take for granted. */
const PROGRAMS: Readonly<Record<string, string>> = {
  npm: `exec node ${NPM} npm "$@"`,
  npx: `exec node ${NPM} npx "$@"`,
  holdfast: `exec node ${HOLDFAST} "$@"`,
  make: 'exit 0',
  step_one: 'exit 0',
  step_two: 'exit 0',
  'backup.sh': 'exit 0',
  // The pages give a program time to take its lock. On a busy machine that takes longer, and so
  // does each look: one a block. Others who sleep, such as the guardian of `holdfast run`, sleep
  // for their time.
  sleep: `case $1 in 1 | 0.5) ;; 2) exec until-ready ;; *) exec /bin/sleep "$@" ;; esac
[ -e "held-in-$PPID" ] && exec /bin/sleep "$@"
for look in $(seq 100); do
  holdfast inspect report --exit-code --store embedded: >/dev/null
  [ $? = 75 ] && exec touch "held-in-$PPID"
  /bin/sleep 0.2
done
exit 1`,
  // For web servers of the page, or for a first holder.
  'until-ready': `for look in $(seq 300); do
  ready=yes
  for port in $AWAITED; do (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || ready=no; done
  [ -n "$AWAITED" ] || holdfast ls --json | grep -q '"holders":\\[{' || ready=no
  [ $ready = yes ] && exit
  /bin/sleep 0.1
done
exit 1`,
}

/** Pages whose programs use a Redis at the usual port, and the ports at which they listen. */
const WITH_REDIS: Readonly<Record<string, readonly number[]>> = {
  'docs/start/oversell.md': [3001, 3002],
  'docs/start/nightly-job.md': [],
  'docs/how-to/payment-callback.md': [3000, 3001],
}

/** What the blocks of a page print, where it shows that they do what the page says. */
const PRINTED: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/start/first-lock.md': [
    /^$/,
    /^(\d+) has the lock.*\n\1 is done\n(?!\1)(\d+) has the lock.*\n\2 is done\n$/,
    // The first program may have ended when a busy machine has loaded the second one.
    /^(\d+) has the lock.*\n(Lock "report" .* held by pid \1 .*\nbusy\n|)\1 is done\n/,
  ],
  'docs/start/crash.md': [
    /^(\d+) has the lock.*\n(?!\1)(\d+) has the lock.*\n\2 is done\n$/,
    /^(\d+) has the lock.*\n(?!\1)(\d+) has the lock.*\n\2 is done\n\1 has lost it: deadline\n$/,
  ],
  'docs/start/oversell.md': [/^$/, /^5 books, 40 sold\n$/, /^5 books, 5 sold\n$/],
  'docs/start/nightly-job.md': [
    /^$/,
    /^(?=[^]*\d+ builds the report)(\d+ leaves it to pid \d+\n|\d+ builds the report, token \d+n\n){3}$/,
  ],
  'docs/how-to/payment-callback.md': [
    /^$/,
    /^answers 200 shipments 1\n$/,
    /^(?:#|ℹ) pass 3$/m,
    /^(?:#|ℹ) pass 2$/m,
  ],
}

let etcd: EtcdCluster
let redis: RedisServer

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  for (const [name, body] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/bash\n${body}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'node_modules/ioredis6'), join(folder, 'node_modules/ioredis'))
  ;[etcd, redis] = await Promise.all([startEtcd(), startRedis()])
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await Promise.all([etcd.stop(), redis.stop()])
})

const pages = pagesWith(LANGUAGES).filter((page) => !(page in LEFT_OUT))

describe.concurrent('the commands of', () => {
  test.each(pages)('%s run', async (page) => {
    const cwd = join(folder, page.replaceAll('/', '-'))
    mkdirSync(cwd)
    symlinkSync(join(ROOT, 'examples'), join(cwd, 'examples'))
    symlinkSync(join(folder, 'bin/backup.sh'), join(cwd, 'backup.sh'))
    writeFileSync(join(cwd, 'scheduler.js'), '')
    for (const [name, code] of savedFiles(page)) writeFileSync(join(cwd, name), code)
    const env = {
      ...process.env,
      ROOT,
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      HOLDFAST_STORE: `embedded:${join(cwd, 'store')}`,
      // Of `embeddedStore()` without a folder.
      XDG_STATE_HOME: join(cwd, 'state'),
      ETCDCTL_ENDPOINTS: etcd.endpoints.join(','),
      ...(await placesOf(page)),
    }
    const printed = []
    for (const { code } of blocksOf(page, LANGUAGES)) {
      const script = hereOnly(code, cwd)
      const { stdout } = await run('bash', ['-ec', script], { cwd, env, timeout: 60_000 })
      printed.push(stdout)
    }
    for (const [at, pattern] of (PRINTED[page] ?? []).entries())
      expect(printed[at]).toMatch(pattern)
  })
})

/** Returns the environment in which programs of a page find Redis, and ports of their own. */
async function placesOf(page: string): Promise<Record<string, string>> {
  const listened = WITH_REDIS[page]
  if (listened === undefined) return {}
  const free = await freePorts(listened.length)
  const ports = Object.fromEntries(listened.map((port, at) => [port, free[at]]))
  return {
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'samples/ports.mjs')}`,
    PORTS: JSON.stringify({ ...ports, 6379: redis.port }),
    AWAITED: free.join(' '),
  }
}

/** Leaves out the times of a crontab, and moves files of the machine into a folder. */
function hereOnly(code: string, cwd: string): string {
  return code
    .replaceAll(/^[\d*]+( [\d*]+){4} +/gm, '')
    .replaceAll('/usr/local/bin/', './')
    .replaceAll('--at-least-for 1m', '--at-least-for 1s')
    .replaceAll('/tmp/', `${cwd}/`)
}

/** Returns the files that the reader saves: the paragraph before a program names its file. */
function savedFiles(page: string): [name: string, code: string][] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const programs = text.matchAll(/((?:^.+\n)+)\n```js\n([^]*?)^```/gm)
  return Array.from(programs).flatMap(([, paragraph = '', code = '']) => {
    const name = /\bas\s+`([\w.-]+)`/.exec(paragraph)?.[1]
    return name === undefined ? [] : [[name, code]]
  })
}
