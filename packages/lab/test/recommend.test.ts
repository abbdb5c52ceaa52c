import { recommend, type Answers } from '../dist/index.js'
import { expect, test } from 'vitest'

const answers: Answers = { machines: 'several', have: [], cost: 'annoyance', heat: 'warm' }

test.each<[string, Partial<Answers>, string, readonly string[]]>([
  [
    'one machine',
    { machines: 'one', cost: 'disaster', have: ['etcd'] },
    'embedded',
    ['one-machine'],
  ],
  ['nothing, and it does not matter much', {}, 'redis', ['small', 'redis-loses']],
  [
    'nothing, and a double grant is a disaster',
    { cost: 'disaster' },
    'etcd',
    ['consensus', 'add', 'fence'],
  ],
  [
    'ZooKeeper, and a disaster',
    { cost: 'disaster', have: ['redis', 'zookeeper'] },
    'zookeeper',
    ['consensus', 'have-it', 'fence'],
  ],
  [
    'a database, and a disaster',
    { cost: 'disaster', have: ['redis', 'mysql'] },
    'mysql',
    ['transaction', 'have-it', 'fence'],
  ],
  [
    'a database and Redis, and money',
    { cost: 'money', have: ['redis', 'postgres'] },
    'postgres',
    ['transaction', 'have-it', 'fence'],
  ],
  [
    'the same, and hot',
    { cost: 'money', heat: 'hot', have: ['redis', 'postgres'] },
    'redis',
    ['fast', 'have-it', 'redis-loses', 'stripe-it'],
  ],
  ['PostgreSQL alone', { have: ['postgres'] }, 'postgres', ['have-it', 'fence']],
])('%s', (_name, given, store, reasons) => {
  expect(recommend({ ...answers, ...given })).toEqual({ store, reasons })
})
