/** How the programs of each language in `bench/peers/` are built and started. */
import { spawnSync } from 'node:child_process'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isThere } from '@holdfast/stores/installed'
import { SLOW_WARM_UP_MS } from '../free.js'

export type LanguageName = 'javascript' | 'go' | 'java' | 'python'

interface Language {
  readonly title: string
  /** Programs that must be on the path. */
  readonly tools: readonly string[]
  /** Commands that build it, in its folder. What they make goes to `bench/peers/build/`. */
  readonly build: readonly (readonly [command: string, ...args: string[]])[]
  readonly run: readonly [command: string, ...args: string[]]
  readonly warmUpMs: number
}

const PEERS = fileURLToPath(new URL('../../peers/', import.meta.url))
const JAVA = `${PEERS}build/java`
const PYTHON = `${PEERS}build/python`

export const LANGUAGES: Readonly<Record<LanguageName, Language>> = {
  javascript: {
    title: 'JavaScript',
    tools: [],
    build: [],
    run: [process.execPath, fileURLToPath(new URL('./holdfast-peer.js', import.meta.url))],
    warmUpMs: SLOW_WARM_UP_MS,
  },
  go: {
    title: 'Go',
    tools: ['go'],
    build: [['go', 'build', '-o', `${PEERS}build/go`, '.']],
    run: [`${PEERS}build/go`],
    warmUpMs: 500,
  },
  java: {
    title: 'Java',
    tools: ['java', 'javac', 'mvn'],
    build: [
      ['mvn', '-B', '-q', 'dependency:copy-dependencies'],
      ['javac', '-cp', `${JAVA}/dependency/*`, '-d', `${JAVA}/classes`, 'Peer.java'],
    ],
    run: ['java', '-cp', [`${JAVA}/classes`, `${JAVA}/dependency/*`].join(delimiter), 'Peer'],
    // The machine compiles what has run often, in several steps, as Node does.
    warmUpMs: SLOW_WARM_UP_MS,
  },
  python: {
    title: 'Python',
    tools: ['python3'],
    build: [
      ['python3', '-m', 'venv', PYTHON],
      [`${PYTHON}/bin/pip`, 'install', '-q', '-r', 'requirements.txt'],
    ],
    run: [`${PYTHON}/bin/python`, `${PEERS}python/peer.py`],
    warmUpMs: 500,
  },
}

/** Builds the programs of a language. Returns why that is not possible, or undefined. */
export function build(name: LanguageName): string | undefined {
  const { title, tools, build: commands } = LANGUAGES[name]
  const missing = tools.filter((tool) => !isThere(tool))
  if (missing.length > 0) return `${title} needs ${missing.join(', ')}, which the path lacks`
  for (const [command, ...args] of commands) {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: `${PEERS}${name}`,
      encoding: 'utf8',
    })
    if (status !== 0) return `${title} could not be built: ${firstLine(`${stderr}${stdout}`)}`
  }
  return undefined
}

function firstLine(output: string): string {
  return output.split('\n').find((line) => line.trim() !== '') ?? 'no reason was given'
}
