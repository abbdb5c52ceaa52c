/** What runs in a terminal ends with it, without an error or a core file. */
import { existsSync, readFileSync } from 'node:fs'
import { eventually } from '@holdfast/servers/eventually'
import { expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'
import { Terminal } from '../support/terminal.js'

it.each([
  ['trapped', 'trap : HUP'],
  ['ignored', 'trap "" HUP'],
])('holdfast watch under a shell with SIGHUP %s ends with its terminal', async (_, trap) => {
  const box = new Box()
  const script = `${trap}; "$@" 2>errors; echo $? >code`
  const command = ['sh', process.execPath, BIN, 'watch']
  const terminal = new Terminal('sh', ['-c', script, ...command], box.env, 80, box.folder)
  await terminal.shows('No lock is held')
  terminal.hangUp()
  await eventually('the program ends', () => existsSync(box.file('code')))
  await eventually('the code is written', () => readFileSync(box.file('code'), 'utf8') !== '')
  expect(readFileSync(box.file('errors'), 'utf8')).toBe('')
  expect(readFileSync(box.file('code'), 'utf8')).toBe('129\n')
})

it.each([
  ['watch', ['watch'], 'No lock is held'],
  ['run', ['run', 'job', '--', 'sh', '-c', 'echo works; sleep 60'], 'works'],
])('holdfast %s exits with 129 when its terminal ends', async (_, args, shown) => {
  const terminal = new Box().inTerminal(args)
  await terminal.shows(shown)
  terminal.hangUp()
  expect(await terminal.code()).toBe(129)
})
