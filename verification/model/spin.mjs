/** Compiles a variant of the model with spin, and looks at every state of it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Far more steps than the models have. Spin reports it if they were not enough. */
const MOST_STEPS = 10_000
const LONGEST_MS = 300_000

/** A program that is not there. */
export class MissingTool extends Error {
  /** @param {string} tool */
  constructor(tool) {
    super(`${tool} is not installed. On Debian and Ubuntu, as root: apt-get install -y spin gcc`)
    this.name = 'MissingTool'
  }
}

/** Spin calls the compiler by itself, and its words for a missing one say little. */
export function assertTools() {
  run('.', 'spin', ['-V'])
  run('.', 'gcc', ['--version'])
}

/**
 * @typedef {{ states: number, transitions: number, holds: boolean, story: readonly string[] }}
 * Outcome
 * @param {string} model the name of its file
 * @param {readonly string[]} defines
 * @returns {Outcome}
 */
export function explore(model, defines) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-model-'))
  const flags = defines.map((define) => `-D${define}`)
  try {
    // The trail carries the name of the file, so spin works on a copy beside it.
    writeFileSync(join(folder, 'model.pml'), readFileSync(new URL(model, import.meta.url)))
    run(folder, 'spin', [...flags, '-a', 'model.pml'])
    // Breadth first: the first counterexample found is one of the shortest.
    // For models of this size, -O1 takes the compiler longer than it saves.
    run(folder, 'gcc', ['-O0', '-w', '-DSAFETY', '-DBFS', '-o', 'pan', 'pan.c'])
    const report = run(folder, './pan', [`-m${MOST_STEPS}`])
    const holds = number(report, /errors: (\d+)/) === 0
    return {
      states: number(report, /(\d+) states, stored/),
      transitions: number(report, /(\d+) transitions/),
      holds: holds && isComplete(report),
      story: holds ? [] : storyOf(run(folder, 'spin', [...flags, '-t', '-T', 'model.pml'])),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} report */
function isComplete(report) {
  if (/max search depth too small|out of memory|Search not completed/.test(report)) {
    throw new Error(`spin did not look at every state:\n${report}`)
  }
  return true
}

/**
 * What happened, step by step, and what was asserted at its end.
 * @param {string} trail
 */
function storyOf(trail) {
  const lines = trail.split('\n').map((line) => line.trim())
  const steps = lines.filter((line) => /^(t=|step )/.test(line))
  return [
    ...steps.map((line) => line.replace(/^step +/, '')),
    ...lines.filter((line) => line.includes('text of failed assertion')),
  ]
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function number(text, pattern) {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`spin said nothing of ${pattern}:\n${text}`)
  return Number(found)
}

/**
 * @param {string} folder
 * @param {string} command
 * @param {readonly string[]} args
 */
function run(folder, command, args) {
  const options = { cwd: folder, encoding: 'utf8', timeout: LONGEST_MS, maxBuffer: 64 * 2 ** 20 }
  const { error, status, signal, stdout, stderr } = spawnSync(command, args, options)
  if (error && 'code' in error && error.code === 'ENOENT') throw new MissingTool(command)
  if (error) throw error
  if (status !== 0)
    throw new Error(`${command} ended with ${signal ?? status}:\n${stdout}${stderr}`)
  return stdout
}
