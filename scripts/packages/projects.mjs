/** Projects of users: an empty folder with packages installed. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './run.mjs'

/** Runs a command under a lock, and lists the locks. */
export async function runCommand(project, command, args = []) {
  const bin = join(project, 'node_modules/holdfast/bin/holdfast.cjs')
  const env = { HOLDFAST_STORE: `embedded:${join(project, 'locks')}` }
  const ran = await run(command, [...args, bin, 'run', 'demo', '--', 'echo', 'ran'], {
    cwd: project,
    env,
  })
  if (!ran.includes('ran')) throw new Error(`holdfast run printed ${ran}`)
  await run(command, [...args, bin, 'ls'], { cwd: project, env })
}

/** Makes an empty project and installs packages. */
export async function install(folder, name, packages) {
  const project = join(folder, name)
  mkdirSync(project)
  setType(project, 'commonjs')
  await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], {
    cwd: project,
  })
  return project
}

export function setType(project, type) {
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'project', private: true, type }),
  )
}
