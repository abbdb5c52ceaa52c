/**
 * What is promised of the command line: the promises that a run of it is judged by, with what each
 * says.
 */
import type { Property } from '../promised.js'

export const RUN_PROPERTIES = {
  exclusion: 'no command finds its file held by another one, by the word of the kernel',
  tokens: 'commands that enter one after the other have tokens that grow',
  'exit-code': 'each wrapper ends with a code that the documentation names for what happened to it',
  liveness:
    'each wrapper ends, and soon after everything is healed each one that waits has entered',
  'left-over': 'no process of any run is left at the end',
  ghost: 'nothing is held or waited for by runs that ended by themselves',
  error: 'wrappers print nothing on stderr but their messages',
} as const
export type RunProperty = keyof typeof RUN_PROPERTIES
export const RUN_PROPERTY_NAMES = Object.keys(RUN_PROPERTIES) as readonly RunProperty[]

export type AnyProperty = Property | RunProperty
