/**
 * Installs what the tests need besides Node, from Debian's packages, as root. Nothing is done for
 * what is there already.
 */
import { spawnSync } from 'node:child_process'

/** Package, and a command that shows that it is there. */
const NEEDS = [
  ['git', 'git --version'],
  ['procps', 'ps --version'],
  // The state-space model: spin makes a C program of it.
  ['spin', 'spin -V'],
  ['gcc', 'gcc --version'],
  ['libc6-dev', 'test -e /usr/include/stdio.h'],
  // The lab's page is looked at in a real browser.
  ['chromium', 'command -v chromium'],
  ['redis-server', 'redis-server --version'],
  ['postgresql', 'ls /usr/lib/postgresql/*/bin/postgres'],
  ['mariadb-server', 'command -v mariadbd'],
  ['pgbouncer', 'test -x /usr/sbin/pgbouncer'],
  ['etcd-server', 'etcd --version'],
  ['etcd-client', 'etcdctl version'],
  ['zookeeper', 'test -e /usr/share/java/zookeeper.jar && java -version'],
  // `promtool` checks the metrics, and a Prometheus scrapes an example.
  ['prometheus', 'command -v prometheus && command -v promtool'],
  // For the benchmarks beside Curator.
  ['libcurator-recipes-java', 'test -e /usr/share/java/curator-recipes.jar'],
]

const missing = NEEDS.filter(
  ([, probe]) => spawnSync('sh', ['-c', probe], { stdio: 'ignore' }).status !== 0,
).map(([name]) => name)

if (missing.length === 0) {
  console.log(`   all there: ${NEEDS.map(([name]) => name).join(', ')}`)
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
