/** `holdfast doctor`: is this machine, and is the store, fit for locks? */
import { createLocks } from 'holdfast'
import { OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import { renderHelp } from '../args/help.js'
import { operandsOf } from '../args/name.js'
import { parseOptions } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import { failure, ok, type Finding } from '../doctor/check.js'
import { checkMachine } from '../doctor/machine.js'
import { checkStore } from '../doctor/store.js'
import { EXIT } from '../exit-codes.js'
import { printJson } from '../output/json.js'
import { locateStore, type StoreLocation } from '../stores/locate.js'
import { openStore, schemeOf } from '../stores/registry.js'
import type { Command } from './command.js'

const OPTIONS = { ...STORE_OPTIONS, ...OUTPUT_OPTIONS }

export const command: Command = {
  help: {
    usage: 'holdfast doctor [options]',
    about: `Checks the store (does it answer, its engine or its members, rights, versions) and this machine (clock, shell).
Exits with 0 when nothing is wrong, else with the code that \`run\` would give: 69, 77 or 78.`,
    options: OPTIONS,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) {
      process.stdout.write(renderHelp(this.help))
      return EXIT.ok
    }
    const [extra] = operandsOf(parsed)
    if (extra !== undefined)
      throw new UsageError(`doctor takes no operand; ${JSON.stringify(extra)} is too much.`)
    const location = await locateStore(parsed.values)
    const findings = [
      ok('store', `${location.shown} (${location.source})`),
      ...(await examine(location)),
      ...checkMachine(),
    ]
    if (parsed.values.json === true)
      printJson({ store: location.shown, source: location.source, checks: findings })
    else process.stdout.write(findings.map(line).join(''))
    return findings.find((finding) => finding.exitCode !== undefined)?.exitCode ?? EXIT.ok
  },
}

async function examine(location: StoreLocation): Promise<Finding[]> {
  try {
    const locks = createLocks(await openStore(location.url), { label: 'holdfast doctor' })
    try {
      return [...(await examineService(location)), ...(await checkStore(locks))]
    } finally {
      await locks.close()
    }
  } catch (error) {
    return [failure('store', error)]
  }
}

/** What only this kind of store has to be looked at for. */
async function examineService({ url }: StoreLocation): Promise<Finding[]> {
  switch (schemeOf(url)) {
    case 'embedded':
      return (await import('../doctor/embedded.js')).checkEmbedded(url)
    case 'etcd':
    case 'etcds':
      return (await import('../doctor/etcd.js')).checkEtcd(url)
    case 'zk':
      return (await import('../doctor/zookeeper.js')).checkZooKeeper(url)
    case 'postgres':
    case 'postgresql':
      return (await import('../doctor/databases.js')).checkPostgres(url)
    case 'mysql':
    case 'mariadb':
      return (await import('../doctor/databases.js')).checkMysql(url)
    default:
      return []
  }
}

const MARKS = { ok: 'ok     ', warning: 'WARNING', failure: 'FAILED ' } as const

function line({ check, verdict, text }: Finding): string {
  return `${MARKS[verdict]}  ${check.padEnd(12)}${text}\n`
}
