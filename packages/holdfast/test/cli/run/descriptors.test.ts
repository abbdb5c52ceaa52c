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

it('refuses the pipes over which Node talks to itself', () => {
  const { stdout } = shell(
    'for fd in 4 5 6 7; do HOLDFAST run x --keep-fd $fd -- true 2>/dev/null; echo $?; done',
  )
  expect(stdout).toBe('64\n64\n64\n64\n')
})

it('passes a jobserver on, of which this process and its parent have both ends', () => {
  // Perl is part of every Debian. It hands on the descriptors up to `$^F`.
  const jobserver = `use POSIX "dup2"; $^F = 99
; pipe(R, W); dup2(fileno(R), 30); dup2(fileno(W), 31); close R; close W
; dup2(30, 3); dup2(31, 4); POSIX::close(30); POSIX::close(31)
; POSIX::write(4, "+", 1)
; exit system("sh", "-c", $ENV{JOB}) >> 8`
  const { status, stdout } = shell(
    `JOB='HOLDFAST run x --keep-fd 3,4 -- head -c 1 /dev/fd/3' perl -e '${jobserver}'`,
  )
  expect({ status, stdout }).toEqual({ status: 0, stdout: '+' })
})
