/** Prints how long programs take to load the package. Nothing is refused for it. */
import { report, run } from './run.mjs'

const ROUNDS = 9
/** Prints the milliseconds that the statement before it took. */
const WATCHED = {
  require: (name) => `const ms = performance.now(); require('${name}')
console.log(performance.now() - ms)`,
  import: (name) => `const ms = performance.now(); await import('${name}')
console.log(performance.now() - ms)`,
}

/** @param {string} project where `holdfast` is installed */
export async function reportImportTime(project) {
  for (const [how, program] of Object.entries(WATCHED)) {
    for (const name of ['holdfast', 'holdfast/redis']) {
      const type = how === 'import' ? 'module' : 'commonjs'
      const args = [`--input-type=${type}`, '--eval', program(name)]
      const times = []
      for (let round = 0; round < ROUNDS; round += 1)
        times.push(Number(await run(process.execPath, args, { cwd: project })))
      const median = times.sort((one, other) => one - other)[(ROUNDS - 1) / 2]
      report(`${how} of ${name}, in milliseconds`, median.toFixed(1))
    }
  }
}
