/** The findings of `holdfast doctor`. */
import { failureOf } from '../failure.js'

export interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'warning' | 'failure'
  readonly text: string
  /** For failures: the exit code of `doctor`. */
  readonly exitCode?: number
}

export function ok(check: string, text: string): Finding {
  return { check, verdict: 'ok', text }
}

export function warning(check: string, text: string): Finding {
  return { check, verdict: 'warning', text }
}

export function failure(check: string, error: unknown): Finding {
  const { message, exitCode } = failureOf(error)
  // Advice to other commands: the operator has run this one already.
  const text = message.replace(/(?:: holdfast doctor| \(holdfast doctor\))(?=[.,])/g, '')
  return { check, verdict: 'failure', text, exitCode }
}
