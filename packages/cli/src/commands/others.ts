/** The commands that are loaded only when they are called. The bundle keeps them in one file. */
export { command as doctor } from './doctor.js'
export { command as inspect } from './inspect.js'
export { command as lab } from './lab.js'
export { command as ls } from './ls.js'
export { command as migrate } from './migrate.js'
export { command as release } from './release.js'
export { command as steal } from './steal.js'
