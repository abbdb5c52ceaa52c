/** A run on the embedded store loads few modules of Node: each one delays the command. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { randomBytes } from '../../../dist/cli/light/crypto.js'
import { performance as light } from '../../../dist/cli/light/performance.js'
import { Box } from '../support/holdfast.js'

it('a run loads neither node:crypto nor node:perf_hooks', async () => {
  const box = new Box()
  const [script, list] = [box.file('list.cjs'), box.file('loaded')]
  writeFileSync(
    script,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join('\\n')))`,
  )
  const program = box.holdfast(['run', 'job', '--', 'true'], {
    env: { NODE_OPTIONS: `--require=${script}` },
  })
  expect(await program.code(), program.stderr).toBe(0)
  const loaded = readFileSync(list, 'utf8').split('\n')
  expect(loaded).toContain('NativeModule net')
  expect(loaded).not.toContain('NativeModule crypto')
  expect(loaded).not.toContain('NativeModule perf_hooks')
})

it('random bytes have the length asked for, and no two are alike', () => {
  const drawn = [12, 12, 250, 12, 300].map((size) => ({ size, bytes: randomBytes(size) }))
  for (const { size, bytes } of drawn) expect(bytes).toHaveLength(size)
  const ids = Array.from({ length: 1000 }, () => randomBytes(12).toString('hex'))
  expect(new Set(ids).size).toBe(1000)
})

/** The process may lose the core between two reads, which makes a difference smaller. */
function difference(): number {
  return Math.max(...Array.from({ length: 20 }, () => light.now() - performance.now()))
}

it('both clocks run alike', () => {
  const began = difference()
  for (let index = 0; index < 1e6; index += 1) Math.sqrt(index)
  expect(Math.abs(difference() - began)).toBeLessThan(1)
})
