import { expect, test } from 'vitest'
import { recommend, type Answers } from '../dist/index.js'

const answers: Answers = { machines: 'several', have: [], cost: 'annoyance', heat: 'warm' }

test.each<[string, Partial<Answers>, string, readonly string[], readonly string[]]>([
  [
    'one machine',
    { machines: 'one', cost: 'disaster', have: ['etcd'] },
    'embedded',
    ['one-machine'],
    [],
  ],
  ['no server, and little at stake', {}, 'redis', ['small'], ['redis-loses', 'fence']],
  [
    'no server, and two holders are a disaster',
    { cost: 'disaster' },
    'etcd',
    ['consensus', 'add'],
    ['fence'],
  ],
  [
    'ZooKeeper, and a disaster',
    { cost: 'disaster', have: ['redis', 'zookeeper'] },
    'zookeeper',
    ['consensus', 'have-it'],
    ['fence'],
  ],
  [
    'a database, and a disaster',
    { cost: 'disaster', have: ['redis', 'mysql'] },
    'mysql',
    ['transaction', 'have-it'],
    ['fence'],
  ],
  [
    'a database and Redis, and money on a hot lock',
    { cost: 'money', heat: 'hot', have: ['redis', 'postgres'] },
    'postgres',
    ['transaction', 'have-it'],
    ['fence', 'stripe-it'],
  ],
  [
    'a database and Redis, and a hot lock with little at stake',
    { heat: 'hot', have: ['redis', 'postgres'] },
    'redis',
    ['fast', 'have-it'],
    ['redis-loses', 'fence', 'stripe-it'],
  ],
  ['PostgreSQL alone', { have: ['postgres'] }, 'postgres', ['have-it'], ['fence']],
])('%s', (_name, given, store, reasons, cautions) => {
  expect(recommend({ ...answers, ...given })).toEqual({ store, reasons, cautions })
})
