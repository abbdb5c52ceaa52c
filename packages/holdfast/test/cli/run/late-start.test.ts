/** The wrapper is stopped between the grant and the gate, for longer than its lease lasts. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'
import { gone, stateOf } from '../support/processes.js'
import { Program } from '../support/program.js'
import { eventually } from '@holdfast/servers/eventually'

const STOPPED_AT_GATE = fileURLToPath(new URL('../drivers/stopped-at-gate.mjs', import.meta.url))

describe('a wrapper that is stopped before it opens the gate', () => {
  it.each([[[]], [['--on-lost', 'warn']], [['--json']]])(
    'never starts the command beside the next holder, with %j',
    async (options) => {
      const box = new Box()
      const file = box.file('started')
      const late = new Program(
        process.execPath,
        [STOPPED_AT_GATE, 'run', 'job', '--ttl', '1s', ...options, '--', 'touch', file],
        { env: box.env },
      )
      await eventually('the wrapper is stopped', () => stateOf(late.pid) === 'T')
      const next = await box.holder('job')
      late.kill('SIGCONT')
      expect(await late.code()).toBe(74)
      expect(existsSync(file)).toBe(false)
      expect(late.stderr).toMatch(/The lease on \\?"job\\?" was lost/)
      if (options.includes('--json'))
        expect(JSON.parse(late.stderr)).toMatchObject({ outcome: 'lost', command: null })
      await gone(file)
      next.types('\n')
      expect(await next.code()).toBe(0)
    },
  )
})
