/**
 * Opens the stores on servers. `holdfast run` on the embedded store does not need them: the small
 * bundle leaves this file out, because each line delays the start of a run.
 */
export { libraryFolder } from './stores/libraries.js'
export { openStore } from '../url/index.js'
