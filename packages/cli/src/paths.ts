/**
 * Files beside the code. This module stays at the top of `dist`, where the bundle is too: both see
 * them alike.
 */
import { fileURLToPath } from 'node:url'

export const GUARDIAN_SCRIPT = fileURLToPath(new URL('../bin/guardian.sh', import.meta.url))
export const GUARDIAN_FOR_NODE = fileURLToPath(new URL('guardian.cjs', import.meta.url))
export const MANIFEST = new URL('../package.json', import.meta.url)
