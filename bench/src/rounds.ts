/**
 * Rounds: every subject runs in a process of its own, and the subjects take turns. A warm-up round
 * is not counted. It leaves out the modules that have run before, since their files are read by
 * then. Each subject warms itself up as well. What is compared is the ratio within a round, since a
 * shared machine is faster in one minute than in the next.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a subject prints: its figures by name. */
export type Figures = Readonly<Record<string, number>>

export interface BenchSubject {
  readonly name: string
  /** A module in `subjects/`, and what to tell it. */
  readonly module: string
  readonly args: readonly string[]
  /**
   * In how many rounds it takes part, from the first one on and without a warm-up. Left out: in
   * all.
   */
  readonly rounds?: number
}

/** The modules that this process has run. */
const haveRun = new Set<string>()

/** The figures of each subject, a list entry a round. */
export async function runRounds(
  subjects: readonly BenchSubject[],
  rounds: number,
  progress: (text: string) => void,
): Promise<Map<string, Figures[]>> {
  const results = new Map<string, Figures[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const subject of subjects) {
      if (subject.rounds !== undefined && (round === 0 || round > subject.rounds)) continue
      if (round === 0 && haveRun.has(subject.module)) continue
      progress(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${subject.name}`)
      const figures = await runSubject(subject)
      if (round > 0) results.get(subject.name)?.push(figures)
    }
  }
  return results
}

const LONGEST_RUN_MS = 120_000

/**
 * Runs a subject once, in a process of its own.
 * @param checkout a built checkout of this repository from which the subject takes `holdfast`
 */
export function runSubject(subject: BenchSubject, checkout?: string): Promise<Figures> {
  haveRun.add(subject.module)
  const path = fileURLToPath(new URL(`./subjects/${subject.module}.js`, import.meta.url))
  const redirect = new URL('./redirect.js', import.meta.url).href
  const options = checkout === undefined ? [] : ['--import', redirect]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...options, path, ...subject.args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HOLDFAST_BENCH_CHECKOUT: checkout },
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_RUN_MS)
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(JSON.parse(output) as Figures)
      else reject(new Error(`${subject.name} ended with ${signal ?? code}`))
    })
  })
}
