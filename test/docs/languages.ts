/** What the Chinese pages share with the English ones. */
import type { Block } from './samples/blocks.js'

/** The Chinese pages, and the English page of each. Names are below `docs/zh` and `docs`. */
export const CHINESE_PAGES: Readonly<Record<string, string>> = {
  README: 'README',
  'first-lock': 'start/first-lock',
  crash: 'start/crash',
  oversell: 'start/oversell',
  'nightly-job': 'start/nightly-job',
  'how-to': 'how-to/README',
  cron: 'how-to/cron',
  'payment-callback': 'how-to/payment-callback',
  'lock-a-request': 'how-to/lock-a-request',
  nestjs: 'integrations/nestjs',
  transactions: 'transactions',
  testing: 'guide/testing',
  processes: 'processes',
  'cpu-bound-work': 'how-to/cpu-bound-work',
  fence: 'how-to/fence',
  'free-a-stuck-lock': 'how-to/free-a-stuck-lock',
  'choose-times': 'how-to/choose-times',
  'when-not-to-lock': 'explain/when-not-to-lock',
  leases: 'explain/leases',
  'redis-ladder': 'explain/redis-ladder',
  fencing: 'explain/fencing',
  redlock: 'explain/redlock',
  queues: 'explain/queues',
  choosing: 'explain/choosing',
  stores: 'stores/README',
  console: 'console',
  'failure-modes': 'failure-modes',
  faq: 'faq',
}

/** Returns a block without its comments, which are in the language of the page. */
export function withoutComments({ language, code }: Block): Block {
  const rest = code.replaceAll(/\/\*\*[^]*?\*\/|(?<=^|\s)(?:\/\/|#) .*$/gm, '')
  return { language, code: rest.replaceAll(/[ \t]+$/gm, '').replaceAll(/\n{2,}/g, '\n') }
}
