/** The error that Nest passes on to the caller of a message handler. */
import type { Outcome } from './outcome.js'

/**
 * Returns an `RpcException`: of any other error the caller learns nothing. Loaded late, since only
 * applications with message handlers have the package.
 */
export function rpcException({ status, message, error }: Outcome): Error {
  const { RpcException } =
    require('@nestjs/microservices') as typeof import('@nestjs/microservices')
  const exception = new RpcException({
    status: 'error',
    message,
    code: error.code,
    httpStatus: status,
  })
  return Object.assign(exception, { cause: error })
}
