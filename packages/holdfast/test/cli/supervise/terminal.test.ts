import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DRIVER } from '../support/driver.js'
import {
  alive,
  childrenOf,
  commandLine,
  family,
  gone,
  stateOf,
  withMark,
} from '../support/processes.js'
import { KEYS, Terminal } from '../support/terminal.js'
import { eventually } from '@holdfast/servers/eventually'

function supervised(command: readonly string[], options: object = {}): Terminal {
  return new Terminal(process.execPath, [DRIVER, JSON.stringify(options), ...command])
}

/**
 * Counts SIGINTs. SIGUSR1 reaches it through the wrapper, after all that the wrapper forwarded
 * before it.
 */
const COUNTER = `
  let count = 0
  process.on('SIGINT', () => console.log('int ' + ++count))
  process.on('SIGUSR1', () => { console.log('count is ' + count); process.exit(8) })
  setInterval(() => {}, 1000)
  console.log('ready')`

describe('a job in a terminal', () => {
  it('gets one SIGINT for one Ctrl-C', async () => {
    const terminal = supervised([process.execPath, '-e', COUNTER])
    await terminal.shows('ready')
    terminal.types(KEYS.ctrlC)
    await terminal.shows('int 1')
    process.kill(terminal.pid, 'SIGUSR1')
    await terminal.shows('count is 1')
    expect(await terminal.code()).toBe(8)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGQUIT', 131],
  ] as const)('gets a %s that was sent to the wrapper alone', async (signal, code) => {
    const terminal = supervised(['sleep', '60'])
    await terminal.shows(/\[job/)
    process.kill(terminal.pid, signal)
    expect(await terminal.code()).toBe(code)
  })

  it('gets one sent SIGINT after a Ctrl-C', async () => {
    const terminal = supervised([process.execPath, '-e', COUNTER])
    await terminal.shows('ready')
    const first = childrenOf(terminal.pid).find(isCanary)
    expect(first).toBeDefined()
    terminal.types(KEYS.ctrlC)
    await terminal.shows('int 1')
    // The job may count before the first canary has died.
    await eventually('another canary sings', () => {
      const canaries = childrenOf(terminal.pid).filter(isCanary)
      return canaries.length > 0 && !canaries.includes(first ?? 0)
    })
    process.kill(terminal.pid, 'SIGINT')
    await terminal.shows('int 2')
    process.kill(terminal.pid, 'SIGUSR1')
    await terminal.shows('count is 2')
    expect(await terminal.code()).toBe(8)
  })

  it('ends with 130 when Ctrl-C ends the command', async () => {
    const terminal = supervised(['sleep', '60'])
    await terminal.shows(/\[job/)
    terminal.types(KEYS.ctrlC)
    await terminal.shows(/\[ended 130\]/)
    expect(await terminal.code()).toBe(130)
  })

  it('lets the command read passwords from the terminal', async () => {
    const script = `stty -echo </dev/tty; printf 'Password: ' >/dev/tty; read -r word </dev/tty; stty echo </dev/tty; echo "got <$word>"`
    const terminal = supervised(['sh', '-c', script])
    await terminal.shows('Password: ')
    terminal.types(`correct horse${KEYS.enter}`)
    await terminal.shows('got <correct horse>')
    expect(await terminal.code()).toBe(0)
    expect(terminal.screen.match(/correct horse/g)).toHaveLength(1)
  })

  it('stops on Ctrl-Z and continues with fg', async () => {
    const shell = new Terminal('/bin/sh', ['-i'], { PS1: 'prompt> ', ENV: '' })
    await shell.shows('prompt> ')
    shell.types(`${process.execPath} ${DRIVER} '{}' cat${KEYS.enter}`)
    const command = Number((await shell.shows(/\[job (\d+)\]/))[1])
    shell.types(`before${KEYS.enter}`)
    await shell.shows(/before\s+before/)
    shell.types(KEYS.ctrlZ)
    await shell.shows('Stopped')
    await eventually('the command is stopped', () => stateOf(command) === 'T')
    shell.types(`fg${KEYS.enter}`)
    await eventually('the command continues', () => stateOf(command) !== 'T')
    shell.types(`after${KEYS.enter}`)
    await shell.shows(/after\s+after/)
    shell.types(KEYS.ctrlC)
    await shell.shows(/\[ended 130\]/)
  })

  it('passes SIGTERM to the command and its descendants', async () => {
    const mark = randomUUID()
    const terminal = supervised(family(mark, 'HUP'))
    await terminal.shows('ready')
    process.kill(terminal.pid, 'SIGTERM')
    expect(await terminal.code()).toBe(143)
    await gone(mark)
  })

  it('leaves no orphan when the wrapper is killed', async () => {
    // Under a shell, which lives on: the end of a session leader would hang the terminal up, and
    // that alone kills.
    const mark = randomUUID()
    const shell = new Terminal('/bin/sh', ['-i'], { PS1: 'prompt> ', ENV: '' })
    await shell.shows('prompt> ')
    shell.types(
      `${process.execPath} ${DRIVER} '{}' sh -c 'trap "" HUP; sh -c "trap \\"\\" HUP; echo rea''dy; while :; do sleep 0.05; done" ${mark}; exit 1' ${mark}${KEYS.enter}`,
    )
    await shell.shows('ready')
    const [wrapper = -1] = withMark(mark).filter((pid) => commandLine(pid).includes(DRIVER))
    process.kill(wrapper, 'SIGKILL')
    await gone(mark)
    expect(alive(shell.pid)).toBe(true)
  })

  it.each(['is killed', 'ends the job'])(
    'leaves no process whose parent ended, when the wrapper %s',
    async (how) => {
      const mark = randomUUID()
      const endAfterMs = how === 'is killed' ? undefined : 500
      const work = `trap "" HUP; exec -a ${mark} sleep 60`
      const terminal = supervised(
        ['bash', '-c', `(bash -c '${work}' &); trap '' HUP; echo ready; exec -a ${mark} sleep 60`],
        { endAfterMs, graceMs: 200 },
      )
      await terminal.shows('ready')
      // The wrapper has the mark among its arguments.
      await eventually('both work', () => withMark(mark).length === 3)
      if (endAfterMs === undefined) process.kill(terminal.pid, 'SIGKILL')
      await gone(mark)
    },
  )

  it('has a stubborn family killed after the grace', async () => {
    const mark = randomUUID()
    const stubborn = `trap '' TERM HUP; echo ready; while :; do sleep 0.02; done`
    const terminal = supervised(['sh', '-c', `sh -c "${stubborn}" ${mark} & wait`, mark], {
      endAfterMs: 300,
      graceMs: 100,
    })
    expect(await terminal.code()).toBe(143)
    expect(withMark(mark)).toEqual([])
  })
})

function isCanary(pid: number): boolean {
  return commandLine(pid).includes('ulimit -c 0')
}

describe('a job at a terminal whose stdin is a pipe', () => {
  it('can ask for a password at /dev/tty, and gets one SIGINT for one Ctrl-C', async () => {
    const script = `read -r word </dev/tty; echo "got <$word>"; cat; trap 'echo int; exit 7' INT; echo ready; while :; do sleep 0.02; done`
    const run = `printf data | "${process.execPath}" "${DRIVER}" '{}' sh -c "$SCRIPT"`
    const terminal = new Terminal('bash', ['-c', run], { SCRIPT: script })
    await terminal.shows(/\[job/)
    terminal.types(`secret${KEYS.enter}`)
    await terminal.shows('got <secret>')
    await terminal.shows(/data\s*ready/)
    terminal.types(KEYS.ctrlC)
    await terminal.shows(/int\s+\[ended 7\]/)
  })
})
