import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { BIN, Box } from '../support/holdfast.js'

function shell(script: string): { status: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, ...new Box().env }
  const holdfast = `"${process.execPath}" "${BIN}"`
  return spawnSync('bash', ['-c', script.replaceAll('HOLDFAST', holdfast)], {
    env,
    encoding: 'utf8',
  })
}

it.each([
  ['one that the gate has otherwise', '3', 'exec 3<<<"first"', 'cat <&3'],
  ['several', '3,5', 'exec 3<<<"first" 5<<<"second"', 'cat <&3; cat <&5'],
  ['a large one', '27', 'exec 27<<<"first"', 'cat <&27'],
])('the command inherits %s', (_, fds, open, use) => {
  const { status, stdout } = shell(`${open}; HOLDFAST run x --keep-fd ${fds} -- bash -c '${use}'`)
  expect(status).toBe(0)
  expect(stdout).toBe(fds === '3,5' ? 'first\nsecond\n' : 'first\n')
})

it('the command inherits no other', () => {
  const { stdout } = shell(
    `exec 4<<<a 5<<<b; HOLDFAST run x --keep-fd 5 -- sh -c 'for fd in 3 4 5 6; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done'`,
  )
  expect(stdout).toBe('5\n')
})

it.each(['2', 'x', '3,', '3,4,5,6,7,8,9', '500', '99999'])('refuses %s', (fds) => {
  const { status, stderr } = shell(`HOLDFAST run x --keep-fd ${fds} -- true`)
  expect(status).toBe(64)
  expect(stderr).toContain('--keep-fd')
})
