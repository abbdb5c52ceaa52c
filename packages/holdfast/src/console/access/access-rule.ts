/** How a console finds out who asks. */
import { mistakeOf, type Authorize, type Grant } from './access.js'
import { ApiFailure } from './failure.js'

export interface AccessRule {
  /** Whether the page is for users alone. It shows nothing until the API answers. */
  readonly guardsPage: boolean
  /**
   * Resolves to who asks.
   * @throws ApiFailure for a request that is refused.
   */
  grantFor(request: Request, context: unknown): Promise<Grant>
}

/** Lets in whom `authorize` lets in. Refuses what it did not answer clearly, and logs why. */
export function authorizedBy(authorize: Authorize, log: (text: string) => void): AccessRule {
  return {
    guardsPage: true,
    async grantFor(request, context) {
      let access: unknown
      try {
        access = await authorize(request, context)
      } catch (error) {
        log(`authorize failed, so the request was refused: ${textOf(error)}`)
        throw refused()
      }
      const mistake = mistakeOf(access)
      if (mistake !== undefined)
        log(`authorize must return false or { user, may }: ${mistake}. The request was refused.`)
      if (mistake !== undefined || access === false) throw refused()
      return access as Grant
    },
  }
}

export function refused(): ApiFailure {
  return new ApiFailure(403, 'FORBIDDEN', 'This user may not see the console.')
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
