/** What of the command line is broken on purpose, and how a broken copy of it is made. */
import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mutatedCopy, mutatedFiles, type Edit } from '@holdfast/simulator'
import type { TortureMutation } from '../mutation.js'

const PACKAGE = fileURLToPath(new URL('../../../../packages/holdfast', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url))
/** What the program is made of. Without its bundles it runs from the parts, which can be edited. */
const PARTS = /^(?:bin|dist)(?:$|\/)/
const BUNDLES = /^dist\/bin\//

/** Makes the copy and returns its folder. The caller removes it. */
export function mutatedCommandLine(mutation: Pick<TortureMutation, 'name' | 'edits'>): string {
  const copy = mutatedCopy(mutation, PACKAGE, (path) => {
    const part = relative(PACKAGE, path)
    return part === '' || (PARTS.test(part) && !BUNDLES.test(part))
  })
  linkModules(copy)
  return copy
}

/** Outside of the repository a copy would not find the client libraries. */
export function linkModules(copy: string): void {
  symlinkSync(MODULES, join(copy, 'node_modules'))
}

/**
 * Returns the texts of the files of the command line that a mutation changes, by their names.
 * @throws Error when an edit does not fit the code
 */
export function filesOfMutatedCommandLine(
  mutation: Pick<TortureMutation, 'name' | 'edits'>,
): ReadonlyMap<string, string> {
  return mutatedFiles(mutation, PACKAGE)
}

/** The program of a copy, or of the package. */
export function programOf(copy: string | undefined): string {
  return join(copy ?? PACKAGE, 'bin/holdfast.cjs')
}

const NO_STRIKE: Edit = {
  file: 'bin/guardian.sh',
  find: '[ -n "$id" ] || return\n',
  replace: 'return\n',
}

const NO_END: Edit = {
  file: 'dist/cli/supervise/lease-watch.js',
  find: "end('lost',",
  replace: "((..._) => {})('lost',",
}

export const COMMAND_LINE_MUTATIONS: readonly TortureMutation[] = [
  {
    of: 'cli',
    name: 'gate-without-lease',
    breaks: 'The lease is asserted in the tick that opens the gate',
    edits: [
      { file: 'dist/cli/run/execute.js', find: 'lease.assertHeld();', replace: '' },
      NO_STRIKE,
      NO_END,
    ],
    masked:
      'wrapper and guardian end a late command within milliseconds, often before it has taken its file',
    store: 'embedded',
    faults: ['late-gate'],
    shows: ['exclusion', 'tokens'],
  },
  {
    of: 'cli',
    name: 'guardian-without-strike',
    breaks: 'The guardian ends the command when the wrapper cannot',
    edits: [NO_STRIKE],
    store: 'embedded',
    faults: ['pause'],
    seconds: 30,
    shows: ['exclusion'],
  },
  {
    of: 'cli',
    name: 'guardian-needs-files',
    breaks: 'The guardian ends the command also where it can open no file',
    edits: [
      {
        file: 'bin/guardian.sh',
        find: '[ -n "$id" ] || return\n',
        replace: '[ -n "$id" ] && : </proc/stat || return\n',
      },
    ],
    store: 'embedded',
    faults: ['at-limits'],
    seconds: 30,
    shows: ['exclusion'],
  },
  {
    of: 'cli',
    name: 'nested-without-search',
    breaks: 'A run inside of a run notes what it waits for, so that a deadlock of two is found',
    edits: [
      {
        file: 'dist/cli/run/under-held.js',
        find: 'if (held.length === 0)',
        replace: 'if (held.length >= 0)',
      },
    ],
    store: 'embedded',
    faults: ['command-kill'],
    shows: ['liveness'],
  },
  {
    of: 'cli',
    name: 'rest-without-end',
    breaks: 'The processes that a killed command leaves behind end before the release',
    edits: [
      { file: 'dist/cli/run/rest.js', find: '!passedOn.has(killer)', replace: 'killer === ""' },
    ],
    store: 'embedded',
    faults: ['command-alone'],
    seconds: 30,
    shows: ['exclusion'],
  },
  {
    of: 'cli',
    name: 'loss-without-end',
    breaks: 'The command is ended before a lease ends that is not renewed',
    edits: [NO_STRIKE, NO_END],
    masked: 'the guardian ends the command when the wrapper does not',
    store: 'redis',
    faults: ['black-hole'],
    seconds: 60,
    shows: ['exclusion'],
  },
]
