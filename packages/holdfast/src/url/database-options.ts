/** The options that the URL of a database may have. */

/** The options that may stand in the URL of a database, beside Holdfast's own. */
export interface UrlOptions {
  /** For the client library. */
  readonly passedOn: readonly string[]
  /** Which other programs put there, and which change nothing here. */
  readonly ignored: readonly string[]
  /** What to write for an encrypted connection. */
  readonly tls: string
}

const POSTGRES: UrlOptions = {
  passedOn: [
    ...['host', 'port', 'user', 'password'],
    ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
    ...['application_name', 'fallback_application_name', 'options', 'client_encoding', 'encoding'],
    ...['statement_timeout', 'query_timeout', 'lock_timeout'],
    'idle_in_transaction_session_timeout',
  ],
  ignored: [
    // Pools and poolers: Prisma, Supabase and others. The pool here has a size of its own.
    ...['pgbouncer', 'connection_limit', 'pool_timeout', 'pool_size', 'max_pool_size', 'pool_mode'],
    ...['max', 'min', 'supa', 'workaround', 'single_use_connections'],
    ...['prepareThreshold', 'prepared_statements', 'statement_cache_size', 'statement_cache_mode'],
    ...['statement_cache_capacity', 'socket_timeout'],
    // libpq. TLS is verified by sslmode; the library binds to the channel where both sides can.
    ...['channel_binding', 'sslsni', 'sslcompression', 'connect_timeout', 'target_session_attrs'],
    ...['keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count'],
    ...['tcp_user_timeout', 'gssencmode', 'krbsrvname', 'load_balance_hosts'],
  ],
  tls: 'Write sslmode=verify-full, with sslrootcert=FILE where the authority is not a public one.',
}

const MYSQL: UrlOptions = {
  passedOn: [
    ...['ssl', 'socketPath', 'charset', 'timezone', 'compress', 'flags', 'connectAttributes'],
    ...['connectTimeout', 'enableKeepAlive', 'keepAliveInitialDelay', 'localAddress'],
    ...['password1', 'password2', 'password3', 'passwordSha1', 'insecureAuth'],
    ...['enableCleartextPlugin', 'maxPreparedStatements', 'disableEval', 'gracefulEnd'],
  ],
  ignored: [
    // Pools: Prisma, and mysql2 itself. The pool here has a size of its own.
    ...['connection_limit', 'pool_timeout', 'pgbouncer', 'statement_cache_size'],
    ...['connectionLimit', 'maxIdle', 'idleTimeout', 'queueLimit', 'waitForConnections'],
    ...['connect_timeout', 'socket_timeout', 'resetOnRelease'],
    // What rows look like to a program.
    ...['bigNumberStrings', 'supportBigNumbers', 'dateStrings', 'decimalNumbers', 'jsonStrings'],
    ...['multipleStatements', 'namedPlaceholders', 'nestTables', 'rowsAsArray', 'typeCast'],
    ...['stringifyObjects', 'debug', 'trace'],
  ],
  tls: 'The package "mysql2" ignores it. Write ssl={} for an encrypted connection to a server with a known certificate, or ssl={"rejectUnauthorized":false} for one with any.',
}

/** By the name of Holdfast's own option, which places the tables. */
export const URL_OPTIONS = { schema: POSTGRES, prefix: MYSQL } as const
