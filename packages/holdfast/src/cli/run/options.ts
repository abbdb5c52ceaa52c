/** The options of `holdfast run`, as its help shows them. */
import { NAMESPACE_OPTION, OUTPUT_OPTIONS, STORE_OPTIONS } from '../args/common.js'
import type { OptionTable } from '../args/options.js'

export const RUN_OPTIONS = {
  ...STORE_OPTIONS,
  ...NAMESPACE_OPTION,
  ttl: {
    type: 'string',
    value: 'DUR',
    help: 'How long the lock outlives a machine that dies. It is renewed while the command runs. Default 30s, at least 1s.',
  },
  wait: {
    type: 'string',
    short: 'w',
    value: 'DUR',
    help: 'How long to wait for a busy lock, or for a store that cannot be reached (at least 2s): a duration, 0 or inf. Default: inf for a busy lock, 30s for the store. A wait of 10s or more is reported on stderr.',
  },
  'no-wait': {
    type: 'boolean',
    short: 'n',
    help: 'Do not wait for a busy lock; the same as --wait 0.',
  },
  shared: {
    type: 'boolean',
    help: 'Share the lock with other --shared runs; those without --shared exclude them.',
  },
  permits: {
    type: 'string',
    value: 'N',
    help: 'Let N runs hold the lock at once. All must give the same N.',
  },
  'kill-after': {
    type: 'string',
    value: 'DUR',
    help: 'When the command must end: the time between SIGTERM and SIGKILL. Default 5s, or a third of a short --ttl.',
  },
  'on-lost': {
    type: 'string',
    value: 'DO',
    help: 'When the lock is lost: term (SIGTERM, then SIGKILL before the lease ends; default), kill, or only warn.',
  },
  'at-least-for': {
    type: 'string',
    value: 'DUR',
    help: 'Keep the lock at least this long: once per tick for jobs on machines whose clocks differ.',
  },
  'at-most-for': {
    type: 'string',
    value: 'DUR',
    help: 'End the command after this time, with exit code 124.',
  },
  'until-group-ends': {
    type: 'boolean',
    help: 'Keep the lock while background processes of the command run, after its end too.',
  },
  'keep-fd': {
    type: 'string',
    value: 'N,…',
    help: 'Descriptors from 3 on that the command inherits, such as 3,4 for the jobserver of make.',
  },
  replace: {
    type: 'boolean',
    help: 'End the run that holds the lock, then wait as always: no run overtakes another.',
  },
  'skip-ok': { type: 'boolean', help: 'Exit with 0 instead of 75 when the lock is busy.' },
  'busy-code': {
    type: 'string',
    short: 'E',
    value: 'N',
    help: 'Exit with N instead of 75 when the lock is busy.',
  },
  command: {
    type: 'string',
    short: 'c',
    value: 'TEXT',
    help: 'Run TEXT by /bin/sh -c, instead of the command after --.',
  },
  label: {
    type: 'string',
    value: 'TEXT',
    help: 'What `ls` shows for this run. Default: the name of the program, without its folder and arguments.',
  },
  'status-file': {
    type: 'string',
    value: 'FILE',
    help: 'Write the outcome to this file, as JSON, in one step.',
  },
  ...OUTPUT_OPTIONS,
  json: {
    type: 'boolean',
    help: 'Print the outcome as one line of JSON on stderr, and nothing else there.',
  },
} as const satisfies OptionTable
