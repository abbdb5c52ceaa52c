/** The embedded store as a subject, in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subject } from 'holdfast/conformance'
import { embeddedStore } from 'holdfast/embedded'
import { killRounds } from '../../support/plan.js'
import { SHORT_TTL_MS } from '../runner.js'

export interface FolderSubject {
  readonly subject: Subject
  /** Removes the folder. */
  remove(): void
}

export function embeddedSubject(): FolderSubject {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'))
  const subject: Subject = {
    name: 'embedded',
    traits: embeddedStore({ directory }).traits,
    open: () => embeddedStore({ directory }),
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/embedded.mjs'), directory],
    },
    shortTtlMs: SHORT_TTL_MS,
    killRounds: killRounds(),
    skip: [
      {
        reason: 'there is no service that could restart; its processes are killed instead',
        tests: ['grow through a restart of the service'],
      },
      {
        reason:
          'its verbs run in the order of the calls, so that few withdrawn claims need to be remembered',
        tests: [
          'a withdrawn claim is remembered while a hundred others come and go',
          'a claim that was withdrawn before its attempt is remembered while a hundred others come and go',
        ],
      },
    ],
  }
  return { subject, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
