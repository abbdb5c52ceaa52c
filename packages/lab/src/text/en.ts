import type { Texts } from './texts.js'

export const en: Texts = {
  oversell: {
    title: 'The shop that oversells',
    intro:
      '{items} books, {buyers} buyers, {processes} processes, one real database. Each way to sell gets the same rush; when somebody has seen the last book, what goes wrong in the real world is made to go wrong.',
    columns: {
      strategy: 'strategy',
      shop: 'database',
      sold: 'sold',
      oversold: 'oversold',
      lost: 'lost updates',
      unserved: 'left standing',
      time: 'time',
      rate: 'orders/s',
      p99: 'p99 wait',
      verdict: 'verdict',
    },
    fine: 'sold just what there was',
    oversoldVerdict: 'sold what it had not got',
    stuckVerdict: 'stood still for good',
    blockedVerdict: 'buyers of other items waited {ms}',
    lostVerdict: 'lost count of its stock',
    unservedVerdict: 'left buyers without an answer',
    expected: 'as expected',
    surprise: 'NOT as expected',
    lessons: 'What happened',
    strategies: {
      'no-lock': {
        title: 'no lock',
        lesson: 'Everybody counts the orders, sees room for one more, and writes it.',
      },
      'read-modify-write': {
        title: 'read, modify, write',
        lesson:
          'Two buyers read the same number and both write one less: one of the two sales is forgotten.',
      },
      'check-then-decrement': {
        title: 'check in memory, atomic decrement',
        lesson:
          'The decrement is atomic, and the check is not a part of it: the stock falls below zero.',
      },
      'local-lock': {
        title: 'lock inside each process',
        lesson: 'It keeps the buyers of one process apart. The other processes do not know it.',
      },
      'released-before-commit': {
        title: 'lock released before the commit',
        lesson: 'The next holder comes in before the commit, and reads what was there before.',
      },
      'unique-row': {
        title: 'row with a unique key',
        lesson:
          'It excludes. But its holder was killed, nobody deletes the row, and the shop stands still.',
      },
      'redis-v1-setnx': {
        title: 'Redis V1: SETNX',
        lesson: 'Its holder was killed. The key has no expiry, so nobody gets in any more.',
      },
      'redis-v2-setnx-expire': {
        title: 'Redis V2: SETNX, then EXPIRE',
        lesson: 'The process was killed between the two commands. The key has no expiry again.',
      },
      'redis-v3-plain-del': {
        title: 'Redis V3: SET NX EX, plain DEL',
        lesson:
          'The holder was stopped for longer than the TTL, went on, sold, and deleted a lock that was not its own.',
      },
      'redis-v4-owner': {
        title: 'Redis V4: owner id, Lua release',
        lesson: 'It deletes only its own lock, and still works on after its lease has ended.',
      },
      'redis-v5-watchdog': {
        title: 'Redis V5: watchdog',
        lesson:
          'The watchdog renews while the process runs. A stopped process renews nothing, and does not look when it wakes.',
      },
      'redis-v6-reentrant': {
        title: 'Redis V6: re-entrant',
        lesson:
          'Nested calls work, and a holder that was stopped sells all the same what it has no right to any more.',
      },
      'select-for-update-no-index': {
        title: 'SELECT … FOR UPDATE, no index',
        lesson:
          'Without an index every row that is read is locked, so that buyers of other items wait too.',
      },
      'select-for-update': {
        title: 'SELECT … FOR UPDATE by key',
        lesson:
          'One row is locked until the commit. Right, as long as all that is guarded is in this database.',
      },
      'optimistic-version': {
        title: 'optimistic version',
        lesson:
          'No lock: whoever comes second has read an old version, changes nothing, and tries again.',
      },
      'holdfast-embedded': {
        title: 'Holdfast, embedded file',
        lesson:
          'Stopped past its TTL, it finds its lease ended when it wakes, and sells nothing. The fence guards the write.',
      },
      'holdfast-redis': {
        title: 'Holdfast, Redis',
        lesson:
          'The same on Redis: the lease has ended, the token is too small, the sale is rolled back.',
      },
      'holdfast-redlock': {
        title: 'Holdfast, Redlock',
        lesson:
          'A majority of masters. No fencing token, so only the look at the deadline protects the write.',
      },
      'holdfast-zookeeper': {
        title: 'Holdfast, ZooKeeper',
        lesson: 'The session ends while the holder is stopped; when it wakes, it knows.',
      },
      'holdfast-etcd': {
        title: 'Holdfast, etcd',
        lesson: 'The lease of etcd ends while the holder is stopped; when it wakes, it knows.',
      },
      'holdfast-postgres': {
        title: 'Holdfast, PostgreSQL transaction',
        lesson:
          'The lock covers the commit: nobody else is granted it while the transaction is open.',
      },
      'holdfast-mysql': {
        title: 'Holdfast, MariaDB transaction',
        lesson:
          'The lock covers the commit: nobody else is granted it while the transaction is open.',
      },
      'holdfast-fifo': {
        title: 'Holdfast, one lock, strict order',
        lesson: 'One buyer after the other, in the order in which they came.',
      },
      striped: {
        title: 'striped inventory',
        lesson:
          'Segments of stock, each under a lock of its own. One that runs dry gets half of the fullest.',
      },
    },
  },
  ladder: {
    title: 'The ladder of Redis locks',
    intro:
      'Each rung mends what broke the one before it. Each fault is really driven, on a real Redis, with real processes.',
    broke: 'broke',
    held: 'held',
    cure: 'Cure',
    nothing: 'NOT as expected',
    rungs: {
      'v1-setnx': {
        title: 'V1: SETNX, and DEL',
        fault: 'The holder is killed.',
        broke: 'The key has no expiry: long after, nobody gets in.',
        cured: 'an expiry, set with a second command: the lock of the dead ends by itself',
      },
      'v2-setnx-expire': {
        title: 'V2: SETNX, then EXPIRE',
        fault: 'The process is killed between the two commands.',
        broke: 'The key has no expiry once more: nobody gets in.',
        cured: 'SET with NX and EX, one command: there is no moment in between',
      },
      'v3-plain-del': {
        title: 'V3: SET NX EX, and a plain DEL',
        fault: 'The work takes longer than the TTL; then the holder deletes the key.',
        broke:
          'It deleted the lock of the next holder, so that a third one came in beside that one.',
        cured: 'the owner’s id in the value, and a script that deletes only one’s own',
      },
      'v4-owner': {
        title: 'V4: the owner’s id',
        fault: 'The work takes longer than the TTL.',
        broke: 'The lock ended under running work: two held it at the same time.',
        cured: 'a watchdog that renews the lock while the work runs',
      },
      'v5-watchdog': {
        title: 'V5: a watchdog',
        fault: 'The holder calls something that takes the same lock.',
        broke: 'It waits for itself, and its watchdog sees to it that it waits for ever.',
        cured: 'a count of entries, kept under the owner’s id',
      },
      'v6-reentrant': {
        title: 'V6: re-entrant',
        fault: 'The whole process is stopped for longer than the TTL, and goes on.',
        broke: 'When it woke, it still believed that it held the lock: two at the same time.',
        cured:
          'Holdfast: `held` is checked against the clock, and is false in the first instruction after the pause',
      },
      'v6-failover': {
        title: 'V6 at a failover',
        fault:
          'The primary dies before its replica has heard of the grant; the replica is promoted.',
        broke: 'The replica knows nothing of the lock and grants it again. No client can know.',
        cured: 'a fencing token: the shop has seen a larger one, and refuses whoever comes late',
      },
    },
    end: 'At the top: a lease with a deadline, a loss that is told in time, and a token that the protected resource checks.',
  },
  scenarios: {
    payment: {
      title: 'A payment callback that is retried',
      story:
        'The payment provider calls back three times at once, and three servers want to ship the order.',
      without: 'Each looks whether it was shipped, sees that it was not, and ships it.',
      withLock: 'One of them ships it; the others find it shipped.',
      damage: 'parcels too many',
    },
    schedule: {
      title: 'A nightly job on five nodes',
      story: 'Five nodes with clocks that differ a little run the same job, three nights in a row.',
      without: 'Each node runs it each night.',
      withLock:
        'Once a night: the lock stays taken for a while after the work, so that late clocks find it busy.',
      damage: 'runs too many or missing',
    },
    cache: {
      title: 'A cache entry that expires under a thousand requests',
      story:
        'A popular entry expires, and a thousand requests in four processes find the cache empty.',
      without: 'Each of them asks the database to build it anew.',
      withLock: 'singleFlight: one request in each process asks, and one process builds.',
      damage: 'rebuilds too many',
    },
    config: {
      title: 'A configuration file that is shared',
      story:
        'Four programs each add their settings to one file: they read it, change it and write it.',
      without: 'Each writes what it has read, and what the others wrote meanwhile is gone.',
      withLock: 'Every setting is there.',
      damage: 'settings lost',
    },
  },
  scenario: {
    without: 'without a lock',
    withLock: 'with Holdfast',
    damage: 'damage',
    time: 'time',
  },
  choose: {
    title: 'Which store?',
    questions: {
      machines: 'Where are the processes? (one: all on one machine, several)',
      have: 'What do you run already? (any of, with commas: redis, postgres, mysql, zookeeper, etcd; or nothing)',
      cost: 'What does a double grant cost? (annoyance, money, disaster)',
      heat: 'How hot is the hottest lock? (cold, warm, hot)',
    },
    recommendation: 'Take',
    because: 'because',
    reasons: {
      'one-machine':
        'all processes are on one machine, so no server is needed and a dead holder is noticed at once',
      'have-it': 'you run it already: nothing new to operate',
      consensus:
        'a double grant would be a disaster, and only a store with consensus keeps its grants through a failover',
      transaction: 'the lock can cover the commit of your own transactions',
      fast: 'it hands a hot lock on fastest among what you run',
      fence:
        'still let the protected resource check the fencing token: no lease stops a process that does not look',
      'redis-loses': 'mind that a failover of Redis can lose a grant; the fence closes that',
      add: 'nothing that you run has consensus; this is the smallest thing that does',
      small: 'it is the smallest server that many machines can share locks through',
      'stripe-it': 'and stripe the hot lock, or let cohorts hand it on',
    },
    measured: 'Measured here, now',
    columns: {
      store: 'store',
      rate: 'free locks/s',
      handOff: 'hand-off p50',
      p99: 'hand-off p99',
      failOver: 'after a kill -9',
      fence: 'fence',
      fair: 'queue',
      promise: 'a double grant is possible',
    },
    promises: {
      embedded: 'never, on a local disk',
      redis: 'at a failover, FLUSHALL, or a step of the server’s clock',
      redlock: 'when clocks jump, or masters restart without persistence',
      zookeeper: 'never by the ensemble',
      etcd: 'never by the cluster',
      postgres: 'at a failover to a replica that lags, or a step of the clock',
      mysql: 'at a failover to a replica that lags, or a step of the clock',
    },
    yes: 'yes',
    no: 'no',
  },
  leftOut: { service: 'Left out: {what}. To have it: {command}', none: 'Nothing was left out.' },
  interrupted: 'Interrupted. Everything that was started has been stopped.',
  report: {
    title: 'Holdfast lab',
    made: 'made by `holdfast lab` on {date}',
    holds: 'holds',
    waits: 'waits',
    stopped: 'is stopped',
    works: 'works without the lock',
  },
}
