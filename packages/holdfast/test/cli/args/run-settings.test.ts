import { describe, expect, it } from 'vitest'
import { runSettings } from '../../../dist/cli/run/settings.js'

const TRUE = ['--', 'true']

describe('the options of run', () => {
  it('has the documented defaults', () => {
    expect(runSettings(['job', ...TRUE])).toMatchObject({
      name: 'job',
      command: ['true'],
      ttlMs: 30_000,
      waitMs: Infinity,
      sharing: { kind: 'exclusive' },
      killAfterMs: 5_000,
      onLost: 'term',
      atLeastMs: 0,
      atMostMs: Infinity,
      label: 'true',
    })
  })

  it('shortens the default --kill-after with a short --ttl', () => {
    expect(runSettings(['job', '--ttl', '3s', ...TRUE])).toMatchObject({ killAfterMs: 1_000 })
  })

  it.each([
    [['--ttl', '30s', '--kill-after', '20s']],
    [['--kill-after', '1h']],
    [['--ttl', '10s', '--kill-after', '6667ms']],
  ])('refuses %j: SIGKILL would not fall before the lease ends', (options) => {
    expect(() => runSettings(['job', ...options, ...TRUE])).toThrow(/two thirds/)
  })

  it.each([
    [['job'], 'Which command?'],
    [['job', '--'], 'Which command?'],
    [TRUE, 'Which lock?'],
    [['job', 'true'], 'Put -- before the command'],
    [['job', 'b', ...TRUE], 'One lock name is expected'],
    [['job', '--permits', '0', ...TRUE], 'whole number'],
    [['job', '--permits', '2147483647', ...TRUE], 'from 1 to 1000000'],
    [['job', '--wait', 'Infinity', ...TRUE], 'Write inf.'],
    [['job', '-n', '-w', '5s', ...TRUE], '--wait and --no-wait'],
    [['job', '-w', '5', ...TRUE], '5s for seconds'],
    [['job', '--replace', '-n', ...TRUE], '--replace ends a run, and waits'],
    [['job', '--replace', '-w', '0', ...TRUE], '--replace ends a run, and waits'],
    [['job', '-E', '256', ...TRUE], 'from 0 to 255'],
    [['job', '-E', '-1', ...TRUE], 'is missing, or begins with -'],
    [['job', '-E', '1', '--skip-ok', ...TRUE], 'two exit codes'],
    [['job', '-c', 'true', ...TRUE], 'two commands'],
    [['job', '-c', ' '], '-c is empty'],
    [['job', 'b', '-c', 'true'], 'One lock name'],
    [['job', '--permits', '1.5', ...TRUE], 'whole number'],
    [['job', '--permits', 'NaN', ...TRUE], 'whole number'],
    [['job', '--permits', '2', '--shared', ...TRUE], 'two kinds'],
    [['job', '--on-lost', 'panic', ...TRUE], 'term, kill or warn'],
    [['job', '--ttl', '1ms', ...TRUE], 'too short'],
    [['job', '--at-most-for', '0', ...TRUE], 'longer than 0'],
  ])('explains %j', (argv, advice) => {
    expect(() => runSettings(argv)).toThrow(advice)
    expect(() => runSettings(argv)).toThrow(expect.objectContaining({ exitCode: 64 }))
  })

  it.each([
    [['/opt/backup/run.sh', '--password', 'hunter2'], 'run.sh'],
    [['psql', 'postgres://me:secret@host/db'], 'psql'],
    [['./tool'], 'tool'],
  ])('labels %j with the name of the program alone', (command, label) => {
    expect(runSettings(['job', '--', ...command])?.label).toBe(label)
  })
})
