/** `holdfast console`: serves the page that shows the locks of a store. */
import { hostname } from 'node:os'
import { createLocks, systemClock, type Locks } from '../../index.js'
import { tokenRule } from '../../console/access/token-rule.js'
import {
  makeConsole,
  REFRESH_MS,
  TITLE,
  WAIT_WARN_MS,
  type LocksConsole,
} from '../../console/console.js'
import { quoted } from '../../console/lock/commands.js'
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { printHelp } from '../args/help.js'
import { noOperand } from '../args/name.js'
import { parseOptions, type OptionTable } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { isOwnHost, listenAddress, type ListenAddress } from '../console/address.js'
import { findingsFor, writeAction } from '../console/report.js'
import { close, listen } from '../console/server.js'
import { newToken, tokenFrom } from '../console/token.js'
import type * as doctor from '../doctor/examine.js'
import { EXIT } from '../exit-codes.js'
import { note } from '../output/note.js'
import { stdout } from '../output/streams.js'
import { userName } from '../output/user-name.js'
import { locateStore, type StoreLocation } from '../stores/locate.js'
import { openStore } from '../stores/open-store.js'
import type { Command, TakeSignal } from './command.js'

const OPTIONS = {
  listen: {
    type: 'string',
    value: 'HOST:PORT',
    help: 'Where to listen. Default 127.0.0.1:0, a free port that only this machine reaches. Another address needs --token-file.',
  },
  'token-file': {
    type: 'string',
    value: 'PATH',
    help: 'A file with the token of the page, which only you can read. It is not printed: open the address with #token=TOKEN behind it. Default: a new token for each start.',
  },
  'allow-steal': {
    type: 'boolean',
    help: 'Let the page steal claims. Without it the page only looks.',
  },
  ...STORE_OPTIONS,
  ...NAMESPACE_OPTION,
  help: OUTPUT_OPTIONS.help,
} as const satisfies OptionTable

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export const command: Command = {
  help: {
    usage: 'holdfast console [options]',
    about: `Serves a page that shows what is wrong, which processes hold and wait, and what may be done. It prints the address
of the page, and runs until a signal ends it. The address has a token in it: keep it as you keep a password.`,
    options: OPTIONS,
    notes: `
With --namespace the page shows the locks of that namespace. Each steal is written to stderr, and each that was
refused. A look needs the same rights as an acquire.

On a server without a browser, forward the port from your own machine:
  ssh -L 4000:127.0.0.1:4000 SERVER holdfast console --listen 127.0.0.1:4000`,
  },

  takesSignals: true,

  async main(argv, takeSignal) {
    const parsed = parseOptions(OPTIONS, argv)
    const { values } = parsed
    if (values.help === true) return printHelp(this.help)
    noOperand('console', parsed)
    const address = listenAddress(values.listen)
    const file = values['token-file']
    if (!address.isLoopback && file === undefined)
      throw new UsageError(
        'An address that other machines reach needs a token of yours: --token-file PATH',
      )
    if (values.namespace === '')
      throw new UsageError('--namespace is empty. Leave it out, or name one.')
    const token = file === undefined ? newToken() : tokenFrom(file)
    const location = locateStore(values)
    const locks = createLocks(await openStore(location), {
      label: 'holdfast console',
      ...(values.namespace === undefined ? {} : { namespace: values.namespace }),
    })
    const maySteal = values['allow-steal'] === true
    const page = pageOf(locks, { location, token, address, maySteal })
    try {
      await serve(page, address, file === undefined ? token : undefined, takeSignal)
    } finally {
      await page.close()
      await locks.close()
    }
    return EXIT.ok
  },
}

interface PageSettings {
  readonly location: StoreLocation
  readonly token: string
  readonly address: ListenAddress
  readonly maySteal: boolean
}

function pageOf(locks: Locks, settings: PageSettings): LocksConsole {
  const { location, token, address, maySteal } = settings
  const grant = {
    user: `${userName()}@${hostname()}`,
    may: maySteal ? (['look', 'steal'] as const) : (['look'] as const),
  }
  // A URL with a secret in it is not shown whole, so that no command could use it.
  const isWhole = location.source !== 'default' && location.shown === location.url
  const source = {
    locks,
    address: location.shown,
    storeOption: isWhole ? ` --store ${quoted(location.url)}` : undefined,
    diagnose: async () => findingsFor(await loadDoctor().examine(location, openStore)),
  }
  return makeConsole({
    stores: new Map([[locks.store.name, source]]),
    rule: tokenRule(token, grant, (host) => isOwnHost(address, host)),
    ...{ log: note, clock: systemClock, isReadOnly: !maySteal, onAction: writeAction },
    ...{ refreshMs: REFRESH_MS, waitWarnMs: WAIT_WARN_MS, title: TITLE },
    ...{ origin: undefined, environment: undefined },
  })
}

/** Loads the checks, which import every store. */
function loadDoctor(): typeof doctor {
  return require('../doctor/examine.js') as typeof doctor
}

/** Serves the page until a signal comes. A token of a file is not printed. */
async function serve(
  page: LocksConsole,
  address: ListenAddress,
  token: string | undefined,
  takeSignal: TakeSignal,
): Promise<void> {
  const listening = await listen(page, address)
  const fragment = token === undefined ? '' : `#token=${token}`
  try {
    await new Promise<void>((resolve) => {
      for (const signal of ENDING) process.once(signal, () => resolve())
      if (takeSignal() !== undefined) return resolve()
      stdout().write(`${listening.url}${fragment}\n`)
    })
  } finally {
    await close(listening)
  }
}
