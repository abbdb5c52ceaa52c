/** Runs a program and returns its output. */
import { spawn } from 'node:child_process'

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, limitMs?: number }} [options]
 * @returns {Promise<string>} what the program printed
 * @throws Error with all output, when the program fails or takes longer than `limitMs` (5 minutes)
 */
export function run(command, args, { cwd, env = {}, limitMs = 300_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output)
      else
        reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}:\n${output}`))
    })
  })
}

/** Prints what was tried and found. */
export function report(what, found = 'ok') {
  console.log(`   ${what}: ${found}`)
}
