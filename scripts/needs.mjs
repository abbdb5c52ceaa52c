/**
 * Installs what the tests need besides Node, from Debian's packages, as root. Nothing is done for
 * what is there already. What a store needs stands in its descriptor.
 */
import { spawnSync } from 'node:child_process'
import { STORES } from '@holdfast/stores'
import { isThere } from '@holdfast/stores/installed'

/** Beside what the stores need: a program on the path or a file, and the package that has it. */
const OTHERS = [
  ['git', 'git'],
  ['ps', 'procps'],
  // The state-space model: spin makes a C program of it.
  ['spin', 'spin'],
  ['gcc', 'gcc'],
  ['/usr/include/stdio.h', 'libc6-dev'],
  // The lab's page is looked at in a real browser.
  ['chromium', 'chromium'],
  // The Chinese pages are looked at, too.
  ['/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc', 'fonts-wqy-zenhei'],
  ['/usr/sbin/pgbouncer', 'pgbouncer'],
  ['etcdctl', 'etcd-client'],
  // `promtool` checks the metrics, and a Prometheus scrapes an example.
  ['promtool', 'prometheus'],
]

const needs = [...OTHERS, ...STORES.flatMap(({ service }) => service.needs ?? [])]
const packages = [...new Set(needs.map(([, name]) => name))]
const missing = [...new Set(needs.filter(([needed]) => !isThere(needed)).map(([, name]) => name))]

if (missing.length === 0) {
  console.log(`   all there: ${packages.join(', ')}`)
} else {
  install(missing)
}

/** @param {string[]} packages */
function install(packages) {
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`
  if (process.getuid?.() !== 0) {
    console.error(`The tests need ${packages.join(', ')}. As root: apt-get update && ${command}`)
    process.exit(1)
  }
  for (const line of ['apt-get update -q', command]) {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const { status } = spawnSync('sh', ['-c', line], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env,
    })
    if (status !== 0) process.exit(status ?? 1)
  }
}
