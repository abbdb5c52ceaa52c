/** Where etcd is, and how a client proves who it is. */
import { LockUsageError } from '../../../errors.js'
import { withoutPassword } from '../../coordination/connection/address-without-password.js'

/** The members of an etcd cluster, and how a client proves who it is. */
export interface EtcdOptions {
  /**
   * Such as `http://10.0.0.1:2379` or `10.0.0.1:2379`; `https://` for TLS. All members, so that one
   * may fail.
   */
  readonly endpoints: readonly string[]
  /** User and password, where etcd has authentication enabled. */
  readonly credentials?: { readonly user: string; readonly password: string } | undefined
  /**
   * What all keys of the store begin with; a slash is added where it has none. Clients of one lock
   * use the same prefix. Default: `holdfast/`.
   */
  readonly prefix?: string | undefined
  /** Certificates in PEM. With it, endpoints without a scheme use TLS as well. */
  readonly tls?: EtcdTls | undefined
}

/** Certificates for connections to etcd. */
export interface EtcdTls {
  /** Who signs the servers' certificates. Default: those that Node trusts. */
  readonly ca?: string | Uint8Array | undefined
  /** The client's own certificate and key, where the servers ask for one. */
  readonly cert?: string | Uint8Array | undefined
  /** The key of the client's certificate. */
  readonly key?: string | Uint8Array | undefined
  /**
   * The name that the servers' certificates are made out to, where it is not the host of the
   * endpoint.
   */
  readonly serverName?: string | undefined
}

export interface Endpoint {
  /** As the client library wants it. */
  readonly target: string
  readonly secure: boolean
}

/** @throws LockUsageError when it is no address. */
export function parseEndpoint(endpoint: string, { tls }: Pick<EtcdOptions, 'tls'> = {}): Endpoint {
  const match = /^(?:(https?):\/\/)?((?:\[[0-9a-f:.]+\]|[^\s/:@[\]]+):(\d{1,5}))\/?$/i.exec(
    endpoint,
  )
  const port = Number(match?.[3])
  if (!match?.[2] || !(port > 0 && port < 65_536)) {
    throw new LockUsageError(
      `${withoutPassword(endpoint)} is no endpoint of etcd. Write host:port, http://host:port or https://host:port, such as ` +
        'http://127.0.0.1:2379. User and password go into the option credentials.',
      { store: 'etcd' },
    )
  }
  const secure = match[1] === undefined ? tls !== undefined : match[1].toLowerCase() === 'https'
  return { target: match[2], secure }
}
