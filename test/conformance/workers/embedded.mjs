/**
 * A process of its own that opens the embedded store in the folder it is given, and does what the
 * suite asks.
 */
import { serveWorker } from 'holdfast/conformance'
import { embeddedStore } from 'holdfast/embedded'

await serveWorker(() => embeddedStore({ directory: process.argv[2] }))
