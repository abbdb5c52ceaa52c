/** Options that every command has. */
import type { OptionTable } from './options.js'

export const STORE_OPTIONS = {
  store: {
    type: 'string',
    value: 'URL',
    help: 'Where the locks live. Default: $HOLDFAST_STORE, then the embedded store in your state folder.',
  },
  system: {
    type: 'boolean',
    help: 'The embedded store that all users of this machine share. Without it each user has locks of their own.',
  },
} as const satisfies OptionTable

export const OUTPUT_OPTIONS = {
  json: { type: 'boolean', help: 'Print JSON, for programs.' },
  help: { type: 'boolean', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable
