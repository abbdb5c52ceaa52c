/**
 * The Chinese pages, and the English page of each. Names are below `docs/zh` and `docs`.
 * @type {Readonly<Record<string, string>>}
 */
export const CHINESE_PAGES = {
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

/**
 * Returns the address of the same page in the other language, if it has one.
 * @param {string} page below `docs/`, as the site names it: `how-to/index.md`
 * @returns {string | undefined}
 */
export function inOtherLanguage(page) {
  const name = page.replace(/\.md$/, '').replace(/(^|\/)index$/, '$1README')
  const [, chinese] = /^zh\/(.*)$/.exec(name) ?? []
  if (chinese !== undefined) return addressOf(CHINESE_PAGES[chinese])
  const twin = Object.keys(CHINESE_PAGES).find((key) => CHINESE_PAGES[key] === name)
  return addressOf(twin && `zh/${twin}`)
}

/** @param {string | undefined} name */
function addressOf(name) {
  return name && `/${name.replace(/(^|\/)README$/, '$1')}`
}
