/**
 * The code that `holdfast run` on the embedded store does not need: the other stores, and the
 * checks of `holdfast doctor`, which import them all. The small bundle leaves it out, because each
 * line delays the start of a run.
 */
export * as databases from './stores/databases.js'
export * as doctor from './doctor/examine.js'
export { libraryFolder } from './stores/libraries.js'
export { openStore } from 'holdfast/url'
