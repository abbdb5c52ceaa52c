/** Running commands one after the other, with what they print shown as it comes. */
import { spawn } from 'node:child_process'

/**
 * Runs a command in the repository's root and resolves when it succeeded.
 * @param {string} title what a person should read
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env] added to this process's environment
 */
export async function step(title, command, args, env = {}) {
  console.log(`\n── ${title}`)
  const startedMs = performance.now()
  const code = await exitCode(command, args, env)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  if (code !== 0) throw new StepFailed(`${title} failed after ${seconds} s (exit code ${code})`)
  console.log(`   done in ${seconds} s`)
}

export class StepFailed extends Error {}

/** @returns {Promise<number>} */
function exitCode(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 1 : 0)))
  })
}
