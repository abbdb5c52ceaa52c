/** Errors for a process that the system did not start, with advice. */
import { ConfigError, SystemError } from '../cli-error.js'

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'holdfast needs /bin/sh to start commands; run it where there is one.',
  E2BIG: 'The arguments and the environment are too long for this system; pass the data in a file.',
  EAGAIN: 'There are too many processes; raise the limit (ulimit -u) or end some.',
  ENOMEM: 'There is no memory left for another process.',
}

export function startFailure(
  what: 'command' | 'guardian process' | 'keeper process',
  cause: NodeJS.ErrnoException,
): ConfigError | SystemError {
  const { code, message } = cause
  const why = ADVICE[code ?? ''] ?? 'The system refused to start another process.'
  const ErrorType = code === 'ENOENT' || code === 'E2BIG' ? ConfigError : SystemError
  return new ErrorType(`The ${what} could not be started (${code ?? message}). ${why}`, { cause })
}
