/** Help pages fit the terminal. */
import { expect, test } from 'vitest'
import { renderHelp } from '../../../dist/cli/args/help.js'
import { COMMANDS, type CommandName } from '../../../dist/cli/commands/index.js'

const names = Object.keys(COMMANDS) as CommandName[]

test.each(names)('help %s breaks all lines but indented ones at the width', async (name) => {
  const { help } = COMMANDS[name].load()
  const lines = renderHelp(help, 70).split('\n')
  const tooLong = lines.filter((line) => line.length > 70 && !/^( {2}\S|Usage: )/.test(line))
  expect(tooLong).toEqual([])
})

test('a paragraph that begins with an indented line keeps it', async () => {
  const { help } = COMMANDS.acquire.load()
  expect(renderHelp(help)).toContain('\n  handle=$(holdfast acquire deploy')
})

test('a pipe gets lines of up to 100 columns', async () => {
  const { help } = COMMANDS.watch.load()
  const widths = renderHelp(help, undefined)
    .split('\n')
    .map((line) => line.length)
  expect(Math.max(...widths)).toBeGreaterThan(80)
  expect(Math.max(...widths)).toBeLessThanOrEqual(100)
})
