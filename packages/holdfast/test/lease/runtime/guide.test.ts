/** The guide lists the events and the traces that exist, and no others. */
import { readFileSync } from 'node:fs'
import { onLockEvent } from 'holdfast'
import { expect, test } from 'vitest'
import { EVENT_NAMES } from '../../../dist/lease/runtime/events.js'
import { traceChannels } from '../../../dist/lease/runtime/traces.js'

const guide = readFileSync(new URL('../../../../../docs/guide/events.md', import.meta.url), 'utf8')

/** Returns the first column of the table under a heading. */
function namesUnder(heading: string): string[] {
  const [, section = ''] = guide.split(`${heading}\n`)
  const [table = ''] = section.split(/\n#+ /)
  return [...table.matchAll(/^\| `([\w:-]+)`/gm)].map(([, name = '']) => name)
}

test('the table of events has each event that onLockEvent accepts', () => {
  expect(namesUnder('# Events')).toEqual([...EVENT_NAMES])
  for (const name of EVENT_NAMES) onLockEvent(name, () => undefined)()
})

test('the table of traces has each tracing channel', () => {
  const names = Object.keys(traceChannels).map((name) => `holdfast:${name}`)
  expect(namesUnder('## Traces')).toEqual([...names, 'holdfast:request'])
})
