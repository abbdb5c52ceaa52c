import { describe, expect, it } from 'vitest'
import { parseOptions, type OptionTable } from '../../../dist/cli/args/options.js'

const TABLE = {
  ttl: { type: 'string', value: 'DUR', help: '' },
  'skip-ok': { type: 'boolean', help: '' },
  help: { type: 'boolean', short: 'h', help: '' },
} as const satisfies OptionTable

describe('options', () => {
  it('leaves everything after -- alone', () => {
    const hostile = ['--ttl', '--', '-h', '--nonsense', '', 'a b', "it's"]
    const parsed = parseOptions(TABLE, ['name', '--ttl=5s', '--', ...hostile])
    expect(parsed).toEqual({ values: { ttl: '5s' }, positionals: ['name'], rest: hostile })
  })

  it.each([
    [['--tll', '5s'], 'Did you mean --ttl?'],
    [['--skipok'], 'Did you mean --skip-ok?'],
    [['--verbose'], 'options of the command to run go after --'],
    [['-x'], 'There is no option -x'],
    [['--ttl'], 'argument missing'],
    [['--ttl', '--skip-ok'], 'is missing, or begins with -'],
    [['--ttl', '-1s'], 'written --ttl=-…'],
    [['--skip-ok=yes'], 'does not take an argument'],
    [['--__proto__'], 'There is no option'],
  ])('explains %j', (argv, advice) => {
    expect(() => parseOptions(TABLE, argv)).toThrow(advice)
    expect(() => parseOptions(TABLE, argv)).toThrow(expect.objectContaining({ exitCode: 64 }))
  })
})
