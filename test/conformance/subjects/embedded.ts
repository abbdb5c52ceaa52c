/** The embedded store as a subject, in a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { embeddedStore } from 'holdfast/embedded'
import { killRounds, raceCount } from '../../support/plan.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

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
    slackMs: SLACK_MS,
    killRounds: killRounds(),
    races: raceCount(),
    skip: [
      {
        reason: 'it has no service to restart; processes are killed instead',
        tests: ['tokens grow through a restart of the service'],
      },
      {
        reason: 'its verbs run in the order of the calls, so it keeps few tombstones',
        tests: [
          'the tombstone of a withdrawn claim outlasts a hundred later claims',
          'the tombstone of a claim that was withdrawn before its attempt outlasts a hundred later claims',
        ],
      },
    ],
  }
  return { subject, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
