/** Which pages the site has, in which order: the bar at its top, and the list at its side. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ text: string, link?: string, collapsed?: boolean, items?: Item[] }} Item */

const START = {
  text: 'Start',
  items: [
    { text: 'Start here', link: '/start/' },
    { text: 'Your first lock', link: '/start/first-lock' },
    { text: 'Two processes and a crash', link: '/start/crash' },
    { text: 'Stop the oversell', link: '/start/oversell' },
    { text: 'A nightly job on three machines', link: '/start/nightly-job' },
    { text: 'Questions', link: '/faq' },
  ],
}

const HOW_TO = {
  text: 'How to …',
  items: [
    { text: 'All tasks', link: '/how-to/' },
    { text: 'Run a cron job once', link: '/how-to/cron' },
    { text: 'Handle a payment callback once', link: '/how-to/payment-callback' },
    { text: 'Process one request per user', link: '/how-to/lock-a-request' },
    { text: 'Lock a file or folder', link: '/how-to/lock-a-path' },
    { text: 'Limit concurrency', link: '/how-to/limit-concurrency' },
    { text: 'Refuse late writes (fence)', link: '/how-to/fence' },
    { text: 'Migrate once at deploy', link: '/how-to/migrations' },
    { text: 'Elect a leader', link: '/how-to/leader' },
    { text: 'Free a stuck lock', link: '/how-to/free-a-stuck-lock' },
    { text: 'Choose ttlMs and waitMs', link: '/how-to/choose-times' },
    { text: 'Do CPU-bound work', link: '/how-to/cpu-bound-work' },
    { text: 'Lock from serverless code', link: '/how-to/serverless' },
    { text: 'Use a managed Redis', link: '/how-to/managed-redis' },
    { text: 'Give the least rights', link: '/how-to/least-rights' },
  ],
}

const EXPLAIN = {
  text: 'Explain',
  items: [
    { text: 'Overview', link: '/explain/' },
    { text: 'When not to lock', link: '/explain/when-not-to-lock' },
    { text: 'Locks and leases', link: '/explain/leases' },
    { text: 'From SETNX to fencing', link: '/explain/redis-ladder' },
    { text: 'Fencing', link: '/explain/fencing' },
    { text: 'Redlock, and the argument', link: '/explain/redlock' },
    { text: 'Queues and cohorts', link: '/explain/queues' },
    { text: 'Choosing a lock and a store', link: '/explain/choosing' },
  ],
}

const OPERATE = {
  text: 'Operate',
  items: [
    { text: 'Overview', link: '/operate/' },
    { text: 'Before production', link: '/operate/checklist' },
    { text: 'The console', link: '/console' },
    { text: 'Troubleshooting', link: '/operate/troubleshooting' },
    { text: 'Failure modes', link: '/failure-modes' },
    { text: 'Upgrades', link: '/operate/upgrades' },
  ],
}

const GUIDE = {
  text: 'Guide',
  collapsed: true,
  items: [
    { text: 'Overview', link: '/guide/' },
    { text: 'Leases', link: '/guide/leases' },
    { text: 'Waiting', link: '/guide/waiting' },
    { text: 'Kinds of lock', link: '/guide/kinds-of-lock' },
    { text: 'Once per tick', link: '/guide/once-per-tick' },
    { text: 'Locks inside of locks', link: '/guide/nesting' },
    { text: 'Passing a lease on', link: '/guide/passing-a-lease' },
    { text: 'Inspect, steal, close', link: '/guide/inspect-and-steal' },
    { text: 'Locks and transactions', link: '/transactions' },
    { text: 'Errors', link: '/guide/errors' },
    { text: 'Events', link: '/guide/events' },
    { text: 'Options', link: '/guide/options' },
    { text: 'Stores by URL', link: '/guide/urls' },
    { text: 'Tests', link: '/guide/testing' },
    { text: 'Processes and shutting down', link: '/processes' },
  ],
}

const INTEGRATIONS = {
  text: 'Integrations',
  collapsed: true,
  items: [{ text: 'Tested versions', link: '/integrations/' }, ...titledPages('integrations')],
}

const TOOLS = {
  text: 'Tools',
  collapsed: true,
  items: [
    { text: 'Command line', link: '/command-line' },
    { text: 'Runtimes and bundlers', link: '/runtimes' },
    { text: 'The lab', link: '/lab' },
  ],
}

const STORES = {
  text: 'Stores',
  collapsed: true,
  items: [
    { text: 'Which store', link: '/stores/' },
    { text: 'Memory', link: '/stores/memory' },
    { text: 'Embedded', link: '/stores/embedded' },
    { text: 'Redis', link: '/stores/redis' },
    { text: 'Redlock', link: '/stores/redlock' },
    { text: 'PostgreSQL', link: '/stores/postgres' },
    { text: 'MySQL and MariaDB', link: '/stores/mysql' },
    { text: 'etcd', link: '/stores/etcd' },
    { text: 'ZooKeeper', link: '/stores/zookeeper' },
  ],
}

const REFERENCE = {
  text: 'Reference',
  collapsed: true,
  items: [
    { text: 'Overview', link: '/reference/' },
    { text: 'All options', link: '/reference/options' },
    { text: 'All commands', link: '/reference/commands' },
    { text: 'JSON', link: '/reference/json' },
  ],
}

const MIGRATE = {
  text: 'Coming from …',
  collapsed: true,
  items: [
    { text: 'How to move', link: '/migrate/' },
    { text: 'redlock', link: '/migrate/redlock' },
    { text: 'redis-semaphore', link: '/migrate/redis-semaphore' },
    { text: 'verrou', link: '/migrate/verrou' },
    { text: 'Redisson', link: '/migrate/redisson' },
    { text: 'async-mutex', link: '/migrate/async-mutex' },
    { text: 'proper-lockfile', link: '/migrate/proper-lockfile' },
  ],
}

const EVIDENCE = {
  text: 'Evidence',
  items: [
    { text: 'Guarantees', link: '/guarantees' },
    { text: 'Benchmarks', link: '/benchmarks' },
  ],
}

const INTERNALS = {
  text: 'For contributors',
  items: [
    { text: 'Words', link: '/internals/words' },
    { text: 'Design', link: '/internals/design' },
    { text: 'Architecture', link: '/internals/architecture' },
    { text: 'Costs', link: '/internals/costs' },
    { text: 'Histories', link: '/internals/history' },
    { text: 'Simulation', link: '/internals/simulation' },
    { text: 'Torture', link: '/internals/torture' },
    { text: 'Measurements', link: '/internals/measurements' },
  ],
}

export const ENGLISH = {
  nav: [
    { text: 'Start', link: '/start/', activeMatch: '^/start/' },
    { text: 'How to', link: '/how-to/', activeMatch: '^/how-to/' },
    { text: 'Guide', link: '/guide/', activeMatch: '^/guide/' },
    { text: 'Explain', link: '/explain/', activeMatch: '^/explain/' },
    { text: 'Operate', link: '/operate/', activeMatch: '^/operate/' },
    { text: 'Stores', link: '/stores/', activeMatch: '^/stores/' },
    { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
  ],
  sidebar: {
    '/': [
      START,
      HOW_TO,
      EXPLAIN,
      OPERATE,
      GUIDE,
      STORES,
      INTEGRATIONS,
      TOOLS,
      REFERENCE,
      MIGRATE,
      EVIDENCE,
    ],
    '/internals/': [INTERNALS],
  },
}

/**
 * Returns the pages of a folder but its index, by their titles.
 * @param {string} folder below `docs/`
 * @returns {Item[]}
 */
function titledPages(folder) {
  const path = join(import.meta.dirname, '../../docs', folder)
  const names = readdirSync(path).filter((name) => name.endsWith('.md') && name !== 'README.md')
  return names.toSorted().map((name) => {
    const [, text = name] = /^# (.*)$/m.exec(readFileSync(join(path, name), 'utf8')) ?? []
    return { text: text.replaceAll('`', ''), link: `/${folder}/${name.replace('.md', '')}` }
  })
}
