/** The completion scripts and the man page, checked by the programs that read them. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

const MAN = fileURLToPath(new URL('../../dist/holdfast.1', import.meta.url))

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

for (const program of ['zsh', 'fish', 'mandoc']) {
  if (!isInstalled(program)) console.log(`left out: ${program} is not installed`)
}

async function scriptFor(box: Box, shell: string): Promise<string> {
  const run = box.holdfast(['completion', shell])
  expect(await run.code()).toBe(0)
  const file = box.file(`completion.${shell}`)
  writeFileSync(file, run.stdout)
  return file
}

describe('holdfast completion', () => {
  it.each([
    ['holdfast el', ['elect']],
    ['holdfast run --at', ['--at-least-for', '--at-most-for']],
    ['holdfast run job --on-lost k', ['kill']],
    ['holdfast help insp', ['inspect']],
    ['holdfast completion z', ['zsh']],
  ])('bash completes %j', async (line, expected) => {
    const file = await scriptFor(new Box(), 'bash')
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', file, ...line.split(' ')])
    expect(stdout.toString().trim().split('\n')).toEqual(expected)
  })

  it.each(['zsh', 'fish'].filter(isInstalled))('%s reads its script', async (shell) => {
    const file = await scriptFor(new Box(), shell)
    const { status, stderr } = spawnSync(shell, ['-n', file])
    expect([status, stderr.toString()]).toEqual([0, ''])
  })

  it.runIf(isInstalled('fish'))('fish completes options', async () => {
    const file = await scriptFor(new Box(), 'fish')
    const script = `source ${file}; complete -C 'holdfast run --at-l'`
    const { stdout } = spawnSync('fish', ['-c', script])
    expect(stdout.toString()).toMatch(/^--at-least-for/)
  })

  it('refuses another shell', async () => {
    expect(await new Box().holdfast(['completion', 'tcsh']).code()).toBe(64)
  })
})

describe('the man page', () => {
  it.runIf(isInstalled('mandoc'))('is without findings of mandoc', () => {
    const { stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', MAN])
    expect(stdout.toString() + stderr.toString()).toBe('')
  })
})
