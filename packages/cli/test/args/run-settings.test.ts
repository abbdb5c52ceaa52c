import { describe, expect, it } from 'vitest'
import { runSettings } from '../../dist/run/settings.js'

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
    [['job', '--permits', '2147483647', ...TRUE], 'from 1 to 2147483646'],
    [['job', '--wait', 'Infinity', ...TRUE], 'Write inf.'],
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

  it('keeps passwords in URLs out of the label', () => {
    const settings = runSettings(['job', '--', 'psql', 'postgres://me:secret@host/db?password=secret'])
    expect(settings?.label).toBe('psql postgres://***@host/db?password=***')
  })

  it.each([
    ["mysql://u:it's@h", 'mysql://***@h'],
    ['--url=mysql://u:a b"c@h', '--url=mysql://***@h'],
    [`psql 'postgres://u:it"s@h/db?password=a"b' -c x`, `psql 'postgres://***@h/db?password=*** -c x`],
    ['curl redis:app:hunter2@h', 'curl redis:***@h'],
    ['my h/db?ssl={"passphrase":"hun ter2"}', 'my h/db?ssl=***'],
  ])('keeps the password of %s out of it, too', (argument, label) => {
    expect(runSettings(['job', '--', argument])?.label).toBe(label)
  })
})
