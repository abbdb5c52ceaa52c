/** Options of all commands. */
import type { OptionTable } from './options.js'

export const STORE_OPTIONS = {
  store: {
    type: 'string',
    value: 'URL',
    help: 'Where the locks are. Default: $HOLDFAST_STORE, then /etc/holdfast.json, then the embedded store in your state folder. Other users can read a password here: use a file or the environment.',
  },
  system: {
    type: 'boolean',
    help: 'The embedded store that all users of this machine share. Without it each user has separate locks.',
  },
  modules: {
    type: 'string',
    value: 'PATH',
    help: 'Load the client library of the store from this folder. Default: beside the command, then the working folder if only you and root may write there.',
  },
} as const satisfies OptionTable

export const NAMESPACE_OPTION = {
  namespace: {
    type: 'string',
    value: 'NS',
    help: 'The namespace of a program: NAME is the lock NS:NAME.',
  },
} as const satisfies OptionTable

export const OUTPUT_OPTIONS = {
  json: { type: 'boolean', help: 'Print JSON, for programs.' },
  help: { type: 'boolean', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable
