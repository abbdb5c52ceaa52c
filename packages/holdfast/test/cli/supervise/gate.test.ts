import { chmodSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startGate } from '../../../dist/cli/supervise/command-gate.js'
import { shellSafeEnv } from '../../../dist/cli/supervise/shell-env.js'
import { driver } from '../support/driver.js'
import { Box } from '../support/holdfast.js'

describe('the gate', () => {
  it('runs nothing before it is opened, and nothing when it is given up', async () => {
    const gate = await startGate({
      command: ['sh', '-c', 'exit 7'],
      env: process.env,
      ownSession: true,
      keepFds: [],
    })
    gate.abandon()
    expect(await gate.exited).toEqual({ code: 125, signal: null })
  })

  it('becomes the command', async () => {
    const gate = await startGate({
      command: ['sh', '-c', 'exit 7'],
      env: process.env,
      ownSession: true,
      keepFds: [],
    })
    gate.open()
    expect(await gate.exited).toEqual({ code: 7, signal: null })
  })

  it('hands hostile arguments on as they are', async () => {
    const hostile = [
      'a b',
      "it's",
      '"q"',
      '$HOME',
      '`id`',
      '$(id)',
      '',
      'line\nbreak',
      '*',
      '--',
      '-c',
      '\\',
      '; exit 9',
      'ü€😀',
    ]
    const show = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))'
    const run = driver({}, [process.execPath, '-e', show, '--', ...hostile])
    expect(await run.code()).toBe(0)
    expect(JSON.parse(run.stdout)).toEqual(hostile)
  })

  it('shows the command the environment that it would have without a shell', async () => {
    const odd = {
      '-i': 'x',
      'spring.port': 'a b\n',
      IFS: 'x',
      OPTIND: 'abc',
      'BASH_FUNC_f%%': '() { :; }',
      PPID: '1',
      MAIL: '$(id)',
    }
    const show = 'process.stdout.write(JSON.stringify(process.env))'
    const bare = { ...process.env, ...odd, OLDPWD: undefined, SHLVL: undefined }
    const run = driver({}, [process.execPath, '-e', show], { env: bare })
    expect(await run.code()).toBe(0)
    const seen = JSON.parse(run.stdout) as Record<string, string>
    expect(seen).toMatchObject(odd)
    expect(
      Object.keys(seen).filter(
        (name) => !(name in bare) || bare[name as keyof typeof bare] === undefined,
      ),
    ).toEqual([])
  })

  it('writes no text of the user into the script', () => {
    const { prelude } = shellSafeEnv({ '$(touch /tmp/x)': '`id`', 'a;b': 'c' }, '$(touch /tmp/y)=')
    expect(prelude).not.toMatch(/touch|`|;b/)
  })

  it('starts a command with a = in its path under an environment that no shell would keep', async () => {
    const box = new Box()
    const command = box.file('dt=2024')
    writeFileSync(
      command,
      `#!${process.execPath}\nconsole.log(process.env['a.b'], ...process.argv.slice(2))\n`,
    )
    chmodSync(command, 0o755)
    const run = driver({}, [command, 'c=d', '-n'], { env: { 'a.b': 'kept', MAIL: '/x' } })
    expect(await run.code()).toBe(0)
    expect(run.stdout).toBe('kept c=d -n\n')
  })

  it('needs nothing of the PATH that is meant for the command', async () => {
    const env = { 'a.b': 'kept', PATH: '/nonexistent' }
    const run = driver({}, [process.execPath, '-p', 'process.env["a.b"] + process.env.PATH'], {
      env,
    })
    expect(await run.code()).toBe(0)
    expect(run.stdout).toBe('kept/nonexistent\n')
  })

  it('leaves no descriptor of its own in the command', async () => {
    const run = driver({}, ['sh', '-c', 'ls /proc/$$/fd'])
    await run.code()
    expect(run.stdout.trim().split('\n')).not.toContain('3')
  })
})
