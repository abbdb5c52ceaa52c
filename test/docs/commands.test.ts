/** Every command of the pages runs as it stands, in a shell; `npm` and `npx` are stand-ins. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type EtcdCluster, startEtcd } from '@holdfast/servers/etcd'
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
  sleep: `case $1 in 1 | 0.5) ;; *) exec /bin/sleep "$@" ;; esac
[ -e "held-in-$PPID" ] && exec /bin/sleep "$@"
for look in $(seq 100); do
  holdfast inspect report --exit-code --store embedded: >/dev/null
  [ $? = 75 ] && exec touch "held-in-$PPID"
  /bin/sleep 0.2
done
exit 1`,
}

/** What the blocks of a page print, where it shows that they do what the page says. */
const PRINTED: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/first-lock.md': [
    /^$/,
    /^(\d+) has the lock.*\n\1 is done\n(?!\1)(\d+) has the lock.*\n\2 is done\n$/,
    /^(\d+) has the lock.*\n(?!\1)(\d+) has the lock.*\n\2 is done\n$/,
    // The first program may have ended when a busy machine has loaded the second one.
    /^(\d+) has the lock.*\n(Lock "report" .* held by pid \1 .*\nbusy\n|)\1 is done\n/,
  ],
}

let etcd: EtcdCluster

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'), { recursive: true })
  for (const [name, body] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  etcd = await startEtcd()
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await etcd.stop()
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

/** Leaves out the times of a crontab, and moves files of the machine into a folder. */
function hereOnly(code: string, cwd: string): string {
  return code
    .replaceAll(/^[\d*]+( [\d*]+){4} +/gm, '')
    .replaceAll('/usr/local/bin/', './')
    .replaceAll('/tmp/', `${cwd}/`)
}

/** Returns the files that the reader saves. */
function savedFiles(page: string): [name: string, code: string][] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const saved = text.matchAll(/^Save as `([\w.]+)`:\n\n```js\n([^]*?)^```/gm)
  return Array.from(saved, ([, name = '', code = '']) => [name, code])
}
