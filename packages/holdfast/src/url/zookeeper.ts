/** `zk:` URLs: `zk://user:password@h1:2181,h2:2181/chroot`. */
import type { ZooKeeperOptions } from '../stores/zookeeper/index.js'
import { LockUsageError } from '../errors.js'
import { shownOption } from './secrets.js'

/**
 * Returns the options of `zookeeperStore` that a URL says.
 * @throws LockUsageError for a URL that makes no sense.
 */
export function zookeeperOptions(url: string): ZooKeeperOptions {
  const match = /^zk:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(\/[^@?#]*)?(?:\?([^#]*))?$/i.exec(url)
  const [, user, hosts, chroot = '', query = ''] = match ?? []
  if (hosts === undefined) {
    throw new LockUsageError(
      'Write the URL of ZooKeeper as zk://host:2181 or zk://user:password@h1:2181,h2:2181/chroot.',
    )
  }
  const servers = hosts.split(',').map((host) => (/:\d+$/.test(host) ? host : `${host}:2181`))
  return {
    connect: `${servers.join()}${chroot.replace(/\/+$/, '')}`,
    ...(user === undefined ? {} : { auth: authOf(user) }),
    ...tickOf(new URLSearchParams(query)),
  }
}

function authOf(text: string): NonNullable<ZooKeeperOptions['auth']> {
  const colon = text.indexOf(':')
  if (colon < 0) throw new LockUsageError('The URL of ZooKeeper names a user without a password.')
  try {
    return {
      scheme: 'digest',
      user: decodeURIComponent(text.slice(0, colon)),
      password: decodeURIComponent(text.slice(colon + 1)),
    }
  } catch {
    throw new LockUsageError(
      'The user or the password in the URL of ZooKeeper has a % that starts no escape; write it as %25.',
    )
  }
}

function tickOf(options: URLSearchParams): { tickMs?: number } {
  for (const name of options.keys()) {
    if (name !== 'tickMs')
      throw new LockUsageError(
        `zk: URLs know the option tickMs; this one has ${shownOption(name, options)}.`,
      )
  }
  const text = options.get('tickMs')
  if (text === null) return {}
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new LockUsageError('tickMs in the URL of ZooKeeper is a number of milliseconds.')
  return { tickMs: Number(text) }
}
