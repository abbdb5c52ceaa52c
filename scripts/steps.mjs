/** Runs the steps of the check. */
import { spawn } from 'node:child_process'

/**
 * A command in the repository's root.
 * @typedef {object} Step
 * @property {string} title what a person should read
 * @property {string} command
 * @property {readonly string[]} args
 * @property {NodeJS.ProcessEnv} [env] added to this process's environment
 */

export class StepFailed extends Error {}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

/** @param {string} title @param {string[]} args @returns {Step} */
export function node(title, ...args) {
  return { title, command: process.execPath, args }
}

/** @param {string} title @param {string} script @returns {Step} */
export function npm(title, script) {
  return { title, command: 'npm', args: ['run', '--silent', script] }
}

/** Passes a signal on to the steps that run. @param {NodeJS.Signals} signal */
export function endRunningSteps(signal) {
  for (const child of running) child.kill(signal)
}

/**
 * Runs the step, and shows its output while it runs.
 * @param {Step} step
 * @throws StepFailed when the command exits non-zero.
 */
export async function runStep(step) {
  console.log(`\n── ${step.title}`)
  const ended = await execute(step, 'inherit')
  if (ended.code !== 0) throw new StepFailed(failureOf(step, ended))
  console.log(`   done in ${ended.seconds} s`)
}

/**
 * Runs all steps, some at a time, and shows what each printed when it has ended.
 * @param {readonly Step[]} steps
 * @param {number} most how many run at a time
 * @throws StepFailed when all have ended and a command exited non-zero.
 */
export async function runSideBySide(steps, most) {
  const waiting = [...steps]
  /** @type {string[]} */
  const failures = []
  const runWaiting = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const ended = await execute(step, 'pipe')
      if (ended.code !== 0) failures.push(failureOf(step, ended))
      console.log(`\n── ${step.title}`)
      if (ended.output !== '') process.stdout.write(ended.output)
      console.log(`   ${ended.code === 0 ? 'done in' : 'FAILED after'} ${ended.seconds} s`)
    }
  }
  await Promise.all(Array.from({ length: most }, runWaiting))
  if (failures.length > 0) throw new StepFailed(failures.join('\n'))
}

/** @param {Step} step */
function failureOf({ title }, { code, seconds }) {
  return `${title} failed after ${seconds} s (exit code ${code})`
}

/**
 * @param {Step} step
 * @param {'inherit' | 'pipe'} stdio what becomes of the output
 * @returns {Promise<{ code: number, seconds: string, output: string }>}
 */
function execute({ command, args, env }, stdio) {
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    let output = ''
    const child = spawn(command, args, {
      stdio: ['ignore', stdio, stdio],
      env: { ...process.env, ...env },
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.on('error', reject)
    running.add(child)
    child.on('close', (code, signal) => {
      running.delete(child)
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
      resolve({ code: code ?? (signal ? 1 : 0), seconds, output })
    })
  })
}
