/** Maps the errors of locks to what callers of HTTP, RPC and GraphQL understand. */
import {
  HttpException,
  Inject,
  Injectable,
  Logger,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import { catchError, type Observable } from 'rxjs'
import { outcomeOf, RETRY_AFTER_S, type Outcome } from './outcome.js'
import { rpcException } from './rpc-exception.js'

/**
 * Maps errors of locks. HTTP answers 423 with `Retry-After` when a lock is busy, and 503 when its
 * store is away. RPC gets an `RpcException`, and GraphQL an error with `extensions.code`. The
 * module registers it for all handlers, and the decorators for theirs.
 */
@Injectable()
export class LockErrorsInterceptor implements NestInterceptor {
  readonly #logger = new Logger('Holdfast')
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  /** Passes the error of a lock on in the form that the caller of the handler understands. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        const outcome = outcomeOf(error)
        if (!outcome) throw error
        // A mapped error is one that Nest does not log.
        if (outcome.status === 503) this.#logger.error(error)
        throw this.#map(context, outcome)
      }),
    )
  }

  #map(context: ExecutionContext, outcome: Outcome): unknown {
    const type = context.getType<'http' | 'rpc' | 'ws' | 'graphql'>()
    if (type === 'rpc') return rpcException(outcome)
    if (type === 'graphql') return new LockGraphQLError(outcome)
    // Only an application with sockets knows what its clients expect.
    if (type === 'ws') return outcome.error
    this.#setRetryAfter(context, outcome)
    return httpException(outcome)
  }

  #setRetryAfter(context: ExecutionContext, { isBusy }: Outcome): void {
    const { httpAdapter } = this.#host
    const response: unknown = context.switchToHttp().getResponse()
    if (!isBusy || httpAdapter.isHeadersSent(response) === true) return
    httpAdapter.setHeader(response, 'Retry-After', String(RETRY_AFTER_S))
  }
}

function httpException({ status, title, message, error }: Outcome): HttpException {
  const body = { statusCode: status, error: title, message, code: error.code }
  return new HttpException(body, status, { cause: error })
}

/** GraphQL takes the extensions of an error from the error that a resolver throws. */
class LockGraphQLError extends Error {
  readonly extensions: Readonly<Record<string, unknown>>

  constructor({ status, isBusy, message, error }: Outcome) {
    super(message, { cause: error })
    const retry = isBusy ? { retryAfterSeconds: RETRY_AFTER_S } : {}
    this.extensions = { code: error.code, status, ...retry }
  }
}
