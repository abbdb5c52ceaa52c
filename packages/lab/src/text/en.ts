import type { Texts } from './texts.js'

export const en: Texts = {
  punctuation: { colon: ': ', comma: ', ', semicolon: '; ', open: ' (', close: ')' },
  wider: 'A wider terminal or a pipe also shows: {columns}.',
  oversell: {
    title: 'The shop that oversells',
    intro:
      '{items} books, {buyers} buyers, {processes} processes, one real database. Each strategy gets the same rush. When a buyer has seen the last book, the lab drives the fault that the strategy has to survive.',
    columns: {
      strategy: 'strategy',
      shop: 'database',
      sold: 'sold',
      oversold: 'oversold',
      lost: 'lost updates',
      unserved: 'unserved',
      blocked: 'others blocked',
      time: 'time',
      rate: 'orders/s',
      p99: 'p99 wait',
      verdict: 'verdict',
    },
    kept: {
      oversold: 'nothing oversold',
      lost: 'no lost update',
      unserved: 'every buyer answered',
      blocked: 'no other buyer blocked',
    },
    promises: 'Which promises were kept',
    promisesNote:
      'Each promise is judged by itself. A count says how often the driven fault broke it, not how bad that is: one sale too many is one customer without a book.',
    speed: 'Orders per second',
    speedNote: 'The speed of a wrong answer does not count: broken strategies are grey.',
    soundLegend: 'kept every promise',
    brokenLegend: 'broke a promise',
    figures: 'Figures',
    fine: 'exactly the stock',
    oversoldVerdict: 'oversold',
    stuckVerdict: 'stuck',
    blockedVerdict: 'buyers of other items waited {ms}',
    lostVerdict: 'lost updates',
    unservedVerdict: 'unserved buyers',
    surprise: 'NOT as expected',
    lessons: 'What happened',
    code: 'Code',
    codeHint: 'The code of a strategy: holdfast lab strategies NAME',
    strategies: {
      'no-lock': {
        title: 'no lock',
        lesson: 'Each buyer counts the orders, sees room for one more, and writes it.',
      },
      'read-modify-write': {
        title: 'read, modify, write',
        lesson:
          'Two buyers read the same number and both write one less: one of the two sales is forgotten.',
      },
      'check-then-decrement': {
        title: 'check in memory, atomic decrement',
        lesson:
          'The decrement is atomic, but the check is not part of it: the stock falls below zero.',
      },
      'local-lock': {
        title: 'lock inside each process',
        lesson: 'It keeps the buyers of one process apart. The other processes do not see it.',
      },
      'released-before-commit': {
        title: 'lock released before the commit',
        lesson: 'The next holder enters before the commit and reads the old stock.',
      },
      'unique-row': {
        title: 'row with a unique key',
        lesson:
          'It excludes. But its holder was killed, the row stays, and the shop is stuck until an operator deletes it.',
      },
      'redis-v1-setnx': {
        title: 'Redis V1: SETNX',
        lesson: 'Its holder was killed. The key has no expiry, so no other client ever gets in.',
      },
      'redis-v2-setnx-expire': {
        title: 'Redis V2: SETNX, then EXPIRE',
        lesson: 'The process was killed between the two commands. Again the key has no expiry.',
      },
      'redis-v3-plain-del': {
        title: 'Redis V3: SET NX EX, plain DEL',
        lesson:
          'The holder was stopped for longer than the TTL, woke, sold, and deleted the lock of the next holder.',
      },
      'redis-v4-owner': {
        title: 'Redis V4: owner id, Lua release',
        lesson: 'It deletes only its own lock, but it still works after its lease has ended.',
      },
      'redis-v5-watchdog': {
        title: 'Redis V5: watchdog',
        lesson:
          'The watchdog renews while the process runs. A stopped process renews nothing, and does not check when it wakes.',
      },
      'redis-v6-reentrant': {
        title: 'Redis V6: re-entrant',
        lesson: 'Nested calls work. A holder that was stopped still sells without the lock.',
      },
      'select-for-update-no-index': {
        title: 'SELECT … FOR UPDATE, no index',
        lesson:
          'Without an index MariaDB locks every row it reads, so buyers of other items wait too.',
      },
      'select-for-update': {
        title: 'SELECT … FOR UPDATE by key',
        lesson:
          'One row is locked until the commit. Right, as long as all that it guards is in this database.',
      },
      'optimistic-version': {
        title: 'optimistic version',
        lesson:
          'No lock: the later of two writers has read an old version, changes nothing, and tries again.',
      },
      'holdfast-embedded': {
        title: 'Holdfast, embedded file',
        lesson:
          'Stopped past its TTL, the holder finds its lease ended when it wakes, and sells nothing. The fencing token guards the write.',
      },
      'holdfast-redis': {
        title: 'Holdfast, Redis',
        lesson:
          'The same on Redis: the lease has ended, the token is too small, the sale is rolled back.',
      },
      'holdfast-redlock': {
        title: 'Holdfast, Redlock',
        lesson: 'A majority of masters grants the lock. The stopped holder finds its lease ended.',
      },
      'holdfast-zookeeper': {
        title: 'Holdfast, ZooKeeper',
        lesson: 'The session ends while the holder is stopped, and the holder sees it on waking.',
      },
      'holdfast-etcd': {
        title: 'Holdfast, etcd',
        lesson:
          'The lease of etcd ends while the holder is stopped, and the holder sees it on waking.',
      },
      'holdfast-postgres': {
        title: 'Holdfast, PostgreSQL transaction',
        lesson:
          '`locks.transaction` covers the commit: no other client is granted the lock while the transaction is open.',
      },
      'holdfast-mysql': {
        title: 'Holdfast, MariaDB transaction',
        lesson:
          '`locks.transaction` covers the commit: no other client is granted the lock while the transaction is open.',
      },
      'holdfast-fifo': {
        title: 'Holdfast, one lock, strict order',
        lesson: 'One buyer after the other, in the order of arrival.',
      },
      striped: {
        title: 'striped inventory',
        lesson:
          'The stock is in segments, each under its own lock. An empty segment takes half of the fullest one.',
      },
    },
  },
  ladder: {
    title: 'The ladder of Redis locks',
    intro:
      'Each rung mends what broke the rung before it. The lab drives each fault on a real Redis with real processes.',
    broke: 'broke',
    held: 'mended: this fault does no damage any more',
    cure: 'Cure',
    surprise: 'NOT as expected',
    rungs: {
      'v1-setnx': {
        title: 'V1: SETNX, and DEL',
        fault: 'The holder is killed.',
        broke: 'The key has no expiry: long after, no client gets in.',
        cured: 'an expiry, set with a second command: the lock of a dead holder ends by itself',
      },
      'v2-setnx-expire': {
        title: 'V2: SETNX, then EXPIRE',
        fault: 'The process is killed between the two commands.',
        broke: 'Again the key has no expiry: no client gets in.',
        cured: 'SET with NX and EX, one command: there is no moment in between',
      },
      'v3-plain-del': {
        title: 'V3: SET NX EX, and a plain DEL',
        fault: 'The work takes longer than the TTL; then the holder deletes the key.',
        broke: 'A deleted the lock of B, so C got in while B was still at work.',
        cured:
          'the owner’s id in the value, and a script that deletes the key of that owner only: C stays out. A still works beside B, which is the fault of the next rung',
      },
      'v4-owner': {
        title: 'V4: the owner’s id',
        fault: 'The work takes longer than the TTL.',
        broke: 'The lock ended under running work: two clients held it at the same time.',
        cured: 'a watchdog that renews the lock while the work runs',
      },
      'v5-watchdog': {
        title: 'V5: a watchdog',
        fault: 'The holder calls code that takes the same lock.',
        broke: 'It waits for itself, and its watchdog keeps the lock alive forever.',
        cured: 'a count of entries, kept under the owner’s id',
      },
      'v6-reentrant': {
        title: 'V6: re-entrant',
        fault: 'The whole process is stopped for longer than the TTL, and wakes again.',
        broke:
          'When it woke, it still believed that it held the lock: two clients at the same time.',
        cured:
          'Holdfast: `held` is checked against the clock, and is false in the first instruction after the pause',
      },
      'v6-failover': {
        title: 'V6 at a failover',
        fault:
          'The primary dies before its replica has learned of the grant. The replica takes over.',
        broke: 'The replica does not know the lock and grants it again. No client can notice.',
        cured: 'a fencing token: the shop has seen a larger one, and refuses the late holder',
      },
    },
    marks: {
      kill: 'kill -9',
      'kill-between': 'kill -9, after the answer to its first command',
      'done-and-release': 'its work is done: it releases the lock',
      'takes-again': 'takes the lock once more',
      stop: 'SIGSTOP',
      continue: 'SIGCONT',
      'primary-died': 'its primary dies; the replica takes over',
    },
    end: 'At the top: a lease with a deadline, a loss that the holder learns in time, and a token that the protected resource checks.',
  },
  scenarios: {
    payment: {
      title: 'A payment callback that is retried',
      story:
        'The payment provider calls back three times at once, and three servers want to ship the order.',
      without:
        'Each server looks whether the order was shipped, sees that it was not, and ships it.',
      withLock: 'One server ships it; the others find it shipped.',
      damage: '{count} parcels too many',
    },
    schedule: {
      title: 'A nightly job on five nodes',
      story: 'Five nodes with slightly different clocks run the same job, three nights in a row.',
      without: 'Each node runs it each night.',
      withLock:
        'Once a night: the lock stays taken for a while after the work, so late clocks find it busy.',
      damage: '{count} runs too many or missing',
    },
    cache: {
      title: 'A cache entry that expires under a thousand requests',
      story:
        'A popular entry expires, and a thousand requests in four processes find the cache empty.',
      without: 'Each request asks the database to build the entry again.',
      withLock: '`singleFlight`: one request in each process asks, and one process builds.',
      damage: '{count} rebuilds too many',
    },
    config: {
      title: 'A configuration file that is shared',
      story:
        'Four programs each add their settings to one file: they read it, change it and write it.',
      without: 'Each program writes what it has read; what the others wrote meanwhile is lost.',
      withLock: 'Every setting is there.',
      damage: '{count} settings lost',
    },
  },
  scenario: { without: 'without a lock', withLock: 'with Holdfast' },
  choose: {
    title: 'Which store?',
    questions: {
      machines: 'Where are the processes? (one: all on one machine, several)',
      have: 'What do you run already? (any of, with commas: redis, postgres, mysql, zookeeper, etcd; or nothing)',
      cost: 'What do two holders at once cost? (annoyance, money, disaster)',
      heat: 'How hot is the hottest lock? (cold, warm, hot)',
    },
    recommendation: 'Take',
    because: 'because',
    mind: 'mind',
    reasons: {
      'one-machine':
        'all processes are on one machine, so no server is needed and a dead holder is noticed at once',
      'have-it': 'you run it already: nothing new to operate',
      consensus:
        'two holders at once would be a disaster, and only a store with consensus keeps its grants through a failover',
      transaction:
        '`locks.transaction` keeps the lock until your own transaction in this database has committed',
      fast: 'it hands a hot lock on fastest among the stores that you run',
      add: 'nothing that you run has consensus; this is the smallest store that has it',
      small: 'it is the smallest server that many machines can share locks through',
    },
    cautions: {
      fence:
        'let the protected resource check the fencing token: no lease stops a process that does not look',
      'redis-loses': 'a failover of Redis can lose a grant; the fencing token closes that',
      'stripe-it':
        'a hot lock limits all of its callers: stripe it, or keep the work under it short',
    },
    measured: 'Measured here, now',
    unmeasured: '{store} could not be measured: {why}',
    moreIsBetter: 'more is better',
    lessIsBetter: 'less is better',
    columns: {
      store: 'store',
      rate: 'free locks/s',
      handOff: 'hand-off p50',
      p99: 'hand-off p99',
      failOver: 'after a kill -9',
      fair: 'queue',
      promise: 'when two holders are possible',
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
  leftOut: {
    title: 'Left out',
    service: 'Left out: {what}. To install it: {command}',
    strategy: 'Left out: {strategy}, which needs {what}.',
  },
  interrupted: 'Interrupted. Everything that the lab started has been stopped.',
  errors: {
    topic: 'The topic',
    strategy: 'The strategy',
    manyTopics: 'lab takes one topic; {extra} is too much.',
    ofOther:
      '--{name} is for {owner}, and {topic} does not know it. Write: holdfast lab {owner} --{name} …',
    nothingElse: '--services none stands alone.',
    emptySegments:
      '{segments} segments of {items} items would be empty from the start. Take fewer segments.',
    fewBuyers:
      'With {buyers} buyers for {items} items nothing can be oversold. Take more buyers than items.',
    unknownNear: '{option} {text} is unknown. Did you mean {near}?',
    unknown: '{option} {text} is unknown. Choose among: {choices}.',
    wholeNumber: '{option} takes a whole number from {least} to {most}, not {text}.',
    noTerminal: 'lab choose needs --{question} when there is no terminal to ask on.',
    noAnswer: 'No answer. lab choose takes --{question} as well.',
    missing: 'Nothing of this topic can be played without {listed}.',
    leftOutBy: '--services leaves it out',
    notStarted: '{title} did not start. Leave it out with --services, or mend this: {why}',
    died: '{name} ended in the middle of the lab, which cannot go on without it. Start the lab again, or leave it out with --services. It said:\n{said}',
    diedSilently:
      '{name} ended in the middle of the lab, which cannot go on without it. Start the lab again, or leave it out with --services. It said nothing.',
    serverEnded: '{name} ended meanwhile. {said}',
    tooSlow: 'it was not done within {seconds} s, so it is too slow or does not answer.',
    storeAway: 'the store did not answer.',
    measureFailed: 'it failed. {why}',
    unfinished: 'The lab could not be finished. {why}',
    unwritable: 'The page cannot be written to {file}: {why}. Choose another file for --html.',
    pageIsFolder:
      'The page cannot be written to {file}: it is a folder. Choose another file for --html.',
    noOption: 'There is no option {option}. See --help.',
    noValue: '{option} takes no value. See --help.',
    needsValue: 'The value of {option} is missing, or begins with -. See --help.',
    duration: '{option} takes a duration of at most a year, such as 500ms, 5s or 1h30m.',
  },
  report: {
    title: 'Holdfast lab',
    made: 'made by `holdfast lab` on {date}',
    legend: 'Legend',
    holds: 'holds the lock',
    waits: 'waits',
    stopped: 'is stopped',
    works: 'works without the lock',
    mark: 'what happens to it',
  },
}
