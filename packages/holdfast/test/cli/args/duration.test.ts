import { describe, expect, it } from 'vitest'
import {
  formatDuration,
  parseDuration,
  parsePositiveDuration,
  parseWait,
} from '../../../dist/cli/args/duration.js'

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['5s', 5_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
    ['.5s', 500],
    ['0', 0],
    ['0s', 0],
    ['0.2ms', 1],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1m500ms', 60_500],
  ])('reads %s', (text, ms) => {
    expect(parseDuration('--ttl', text)).toBe(ms)
  })

  it.each([
    '',
    '5',
    '1.5',
    '-5s',
    '5 s',
    '5S',
    's',
    '30m1h',
    '5s5s',
    '1h 30m',
    '1h30',
    'NaN',
    'inf',
    'Infinity',
    '1e3s',
    '0x10s',
    '5s\n',
    '٥s',
  ])('refuses %j with a usage error', (text) => {
    expect(() => parseDuration('--ttl', text)).toThrow(expect.objectContaining({ exitCode: 64 }))
  })

  it('says which units a bare number could have meant', () => {
    expect(() => parseDuration('--ttl', '30')).toThrow('30s for seconds, 30ms for milliseconds')
  })

  it('refuses what is longer than a year', () => {
    expect(() => parseDuration('--ttl', `${'9'.repeat(400)}s`)).toThrow('longer than a year')
  })

  it('has inf for --wait only', () => {
    expect(parseWait('--wait', 'inf')).toBe(Infinity)
    expect(() => parseDuration('--ttl', 'inf')).toThrow('Only --wait')
  })

  it('refuses zero where it makes no sense', () => {
    expect(() => parsePositiveDuration('--ttl', '0')).toThrow('longer than 0')
  })

  it.each([
    [0, '0ms'],
    [999.6, '1.0s'],
    [59_500, '1m'],
    [61_000, '1m 1s'],
    [4_800_000, '1h 20m'],
    [90_000_000, '1d 1h'],
    [Infinity, 'forever'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
