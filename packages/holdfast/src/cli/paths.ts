/** Files beside the code, both for the bundles in `dist/bin` and for the compiled parts. */
import { join } from 'node:path'

export const GUARDIAN_SCRIPT = join(__dirname, '../../bin/guardian.sh')
export const GUARDIAN_FOR_NODE = join(__dirname, '../bin/guardian.cjs')
export const MANIFEST = join(__dirname, '../../package.json')
