/** The completion scripts and the man page, checked by the programs that read them. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { renderHelp } from '../../../dist/cli/args/help.js'
import { COMMANDS } from '../../../dist/cli/commands/index.js'
import { completionScript } from '../../../dist/cli/completion/scripts.js'
import { Box } from '../support/holdfast.js'

const MAN = fileURLToPath(new URL('../../../dist/holdfast.1', import.meta.url))

const commands = Object.entries(COMMANDS).map(([name, { about, load }]) => {
  const { help } = load()
  return { name, about, help, options: help.options }
})

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
    ['holdfast lab over', ['oversell']],
    ['holdfast lab choose --cost mo', ['money']],
    ['holdfast lab --no', ['--no-measure']],
    ['holdfast run job -- trunc', ['truncate']],
  ])('bash completes %j', async (line, expected) => {
    const file = await scriptFor(new Box(), 'bash')
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', file, ...line.split(' ')])
    expect([...new Set(stdout.toString().trim().split('\n'))]).toEqual(expected)
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

  it.runIf(isInstalled('fish'))('fish completes the command after --', async () => {
    const file = await scriptFor(new Box(), 'fish')
    const completed = (line: string): string =>
      spawnSync('fish', ['-c', `source ${file}; complete -C '${line}'`]).stdout.toString()
    expect(completed('holdfast run job -- trunc')).toMatch(/^truncate/)
    expect(completed('holdfast run job -- ls --alm')).toMatch(/^--almost-all/m)
    expect(completed('holdfast elect job -- trunc')).toMatch(/^truncate/)
    expect(completed('holdfast inspect -- trunc')).toBe('')
  })

  it('refuses another shell', async () => {
    expect(await new Box().holdfast(['completion', 'tcsh']).code()).toBe(64)
  })
})

describe('every option of every command', () => {
  const page = readFileSync(new URL('../../../../../docs/command-line.md', import.meta.url), 'utf8')

  it.each([
    ['the man page', (name: string, short?: string) => roff(name, short), () => readFileSync(MAN)],
    [
      'the completion of bash',
      (name: string, short?: string) => (short === undefined ? `--${name}` : `--${name} -${short}`),
      () => completionScript('bash', commands),
    ],
    [
      'the completion of zsh',
      (name: string) => `'--${name}`,
      () => completionScript('zsh', commands),
    ],
    [
      'the completion of fish',
      (name: string) => `-l ${name} `,
      () => completionScript('fish', commands),
    ],
  ])('stands in %s', (_, shown, text) => {
    const whole = text().toString()
    for (const { options } of commands)
      for (const [name, { short }] of Object.entries(options))
        expect(whole).toContain(shown(name, short))
  })

  it('of run stands in docs/command-line.md', () => {
    const run = commands.find(({ name }) => name === 'run')
    const missing = Object.entries(run?.options ?? {}).filter(
      ([name, { short }]) =>
        !page.includes(`--${name}`) || (short !== undefined && !page.includes(`-${short}`)),
    )
    expect(missing.map(([name]) => name)).toEqual(['help'])
  })

  it('is described by help', () => {
    for (const { options, help } of commands)
      for (const name of Object.keys(options)) expect(renderHelp(help)).toContain(`--${name}`)
  })
})

function roff(name: string, short: string | undefined): string {
  const long = `Fl Fl ${name.replaceAll('-', '\\-')}`
  return short === undefined ? `.It ${long}` : `.It Fl ${short} , ${long}`
}

describe('the man page', () => {
  it.runIf(isInstalled('mandoc'))('is without findings of mandoc', () => {
    const { stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', MAN])
    expect(stdout.toString() + stderr.toString()).toBe('')
  })
})
