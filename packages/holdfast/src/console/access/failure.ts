/** A refusal or a failure of the API. */
import type { ApiError } from '../view.js'

export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }

  get body(): ApiError {
    return { error: { code: this.code, message: this.message } }
  }
}
