/**
 * The options of `holdfast lab`. They stand here and not in the package of the lab. So help,
 * completion and the man page have them where the lab is not installed.
 */
import { OUTPUT_OPTIONS } from './common.js'
import type { OptionTable } from './options.js'

export const LAB_TOPICS = [
  'tour',
  'oversell',
  'ladder',
  'payment',
  'schedule',
  'cache',
  'config',
  'choose',
  'strategies',
] as const

export const LAB_ABOUT = `Shows what goes wrong with locks, and what helps, on real servers that it starts and stops itself.

  tour        a shop oversells, and stops overselling; this is what happens without a TOPIC
  oversell    every strategy in the same rush: 100 items, 500 buyers, 8 processes, a real database
  ladder      Redis locks from SETNX to fencing, each broken by its fault and mended by the next
  payment     a payment callback that is retried; also: schedule, cache, config
  choose      which store fits, and what the stores do on this machine
  strategies  the names of all strategies; with one name behind it, the code of that one`

export const LAB_OPTIONS = {
  items: { type: 'string', value: 'N', help: 'oversell: how many there are to sell. Default 100.' },
  buyers: { type: 'string', value: 'N', help: 'oversell: how many want one. Default 500.' },
  processes: { type: 'string', value: 'N', help: 'oversell: in how many processes. Default 8.' },
  segments: {
    type: 'string',
    value: 'N',
    help: 'oversell: segments of the striped inventory. Default 16.',
  },
  think: {
    type: 'string',
    value: 'DUR',
    help: 'oversell: how long a sale takes inside the shop. Default 10ms.',
  },
  strategies: { type: 'string', value: 'A,B', help: 'oversell: only these. See `lab strategies`.' },
  machines: { type: 'string', value: 'one|several', help: 'choose: where the processes are.' },
  have: {
    type: 'string',
    value: 'A,B',
    help: 'choose: what you run already: redis, postgres, mysql, zookeeper, etcd, nothing.',
  },
  cost: {
    type: 'string',
    value: 'annoyance|money|disaster',
    help: 'choose: what a double grant costs.',
  },
  heat: { type: 'string', value: 'cold|warm|hot', help: 'choose: how hot the hottest lock is.' },
  'no-measure': { type: 'boolean', help: 'choose: only recommend, measure nothing.' },
  services: {
    type: 'string',
    value: 'A,B',
    help: 'Start only these servers: postgres, mysql, redis, redlock, zookeeper, etcd; or none. Default: all that are installed.',
  },
  html: {
    type: 'string',
    value: 'FILE',
    help: 'Also write a page: charts, and timelines of the ladder.',
  },
  lang: {
    type: 'string',
    value: 'en|zh',
    help: 'The language. Default: as the locale says.',
  },
  ...OUTPUT_OPTIONS,
} as const satisfies OptionTable
