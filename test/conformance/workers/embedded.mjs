/** A worker that opens the embedded store in the given folder. */
import { serveWorker } from '@holdfast/conformance'
import { embeddedStore } from 'holdfast/embedded'

await serveWorker(() => embeddedStore({ directory: process.argv[2] }))
