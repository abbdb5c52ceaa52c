/** What `npm run bench` measures: each module of `suites/` exports one. */
import type { Comparable } from './comparison.js'
import type { Row } from './report.js'

export type Progress = (text: string) => void

export interface BenchSuite {
  readonly measure: (rounds: number, progress: Progress) => Promise<Row[]>
  /** How it is compared with another checkout. Absent: it is not. */
  readonly comparable?: Comparable
}
