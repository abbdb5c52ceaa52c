/**
 * The state-space model of leases and fencing tokens: every variant gives the verdict that is
 * expected of it.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'

const RUN = fileURLToPath(new URL('../../verification/model/run.mjs', import.meta.url))

/** All, or those whose output the test below reads. */
const VARIANTS = isFull()
  ? []
  : ['fenced', 'unfenced', 'use-after-pause', 'redlock-votes-alone', 'zookeeper-request']

interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

function model(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Run {
  return spawnSync(process.execPath, [RUN, ...args], { encoding: 'utf8', env })
}

describe('the model of leases and fencing tokens', () => {
  test(
    'is as expected in its variants, and shows how the broken ones break',
    { timeout: isFull() ? 1_200_000 : 240_000 },
    () => {
      const { status, stdout, stderr } = model(VARIANTS)
      expect(stderr).toBe('')
      expect(stdout).toMatch(/(\d+) of \1 variants are as expected/)
      expect(status).toBe(0)
      const of = (name: string): string =>
        stdout.split('\n\n').find((part) => part.includes(` ${name}: `)) ?? ''
      expect(of('fenced')).toMatch(/holds in every state[\s\S]* \d{6,} states/)
      expect(of('unfenced')).toMatch(
        /counterexample[\s\S]*A writes 1 under the token 2\n.*B writes 1 under the token 1/,
      )
      expect(of('redlock-votes-alone')).toMatch(
        /([AB]) is granted the token (\d)[\s\S]*(?!\1)[AB] is granted the token \2/,
      )
      expect(of('zookeeper-request')).toMatch(/the request of \d is agreed to\n.*believes until/)
      expect(of('use-after-pause')).toMatch(/the write of [AB] arrives while [AB] has the lock/)
    },
  )

  test('says how spin is installed where it is missing', () => {
    const { status, stderr } = model(['unfenced'], { PATH: '/nowhere' })
    expect(stderr).toBe(
      'spin is not installed. On Debian and Ubuntu, as root: apt-get install -y spin gcc\n',
    )
    expect(status).toBe(69)
  })

  test('an unknown variant is refused with the list of variants', () => {
    const { status, stderr } = model(['fensed'])
    expect(stderr).toMatch(/^There is no variant "fensed"\. Choose among: fenced, unfenced,/)
    expect(status).toBe(64)
  })
})
