/** The suite's own rules: what is left out, and how that is said. */
import {
  conformanceCases,
  conformanceSuite,
  VirtualClock,
  type Runner,
  type Subject,
} from 'holdfast/conformance'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'

const store = memoryStore()
const subject: Subject = { name: 'some store', traits: store.traits, open: () => store }

describe('the conformance suite', () => {
  test('has no two cases of one name', () => {
    const titles = conformanceCases(subject).map(({ title }) => title)
    expect(titles).toHaveLength(new Set(titles).size)
  })

  test('does not leave out the tests with processes by forgetting', async () => {
    const killed = conformanceCases(subject).find(
      ({ title }) => title === 'a killed holder costs its TTL at most',
    )
    expect(killed?.skipped).toBeUndefined()
    await expect(killed?.run()).rejects.toThrow(/needs a worker.*skip and its reason/)
  })

  test('leaves out a case or a group for a reason', () => {
    const reason = 'there is only one process'
    const cases = conformanceCases({
      ...subject,
      skip: [{ reason, tests: ['processes', 'may be repeated'] }],
    })
    const left = cases.filter(({ skipped }) => skipped === reason)
    expect(new Set(left.map(({ group }) => group))).toEqual(new Set(['processes', 'downgrade']))
    expect(left.filter(({ group }) => group === 'downgrade')).toHaveLength(1)
  })

  test('refuses a skip without a reason, and one of a test that is not there', () => {
    expect(() =>
      conformanceCases({ ...subject, skip: [{ reason: ' ', tests: ['steal'] }] }),
    ).toThrow(/reason/)
    expect(() =>
      conformanceCases({ ...subject, skip: [{ reason: 'old', tests: ['stael'] }] }),
    ).toThrow(/stael/)
  })

  test('shows what is left out, and why', () => {
    const told: string[] = []
    const runner: Runner = {
      describe: (_title, register) => register(),
      test: (title) => void told.push(title),
      skip: (title) => void told.push(title),
    }
    conformanceSuite(
      { ...subject, skip: [{ reason: 'it is alone', tests: ['processes'] }] },
      runner,
    )
    expect(told).toContain('a killed waiter is passed over [left out: it is alone]')
    expect(told).toHaveLength(conformanceCases(subject).length)
  })

  test('registers the cases that bear others beside them first, and apart', () => {
    const told: string[] = []
    const runner: Runner = {
      describe: (_title, register) => register(),
      describeConcurrent(_title, register) {
        told.push('beside')
        register()
        told.push('apart')
      },
      test: (title) => void told.push(title),
    }
    conformanceSuite({ ...subject, restart: () => undefined }, runner)
    const last = told.lastIndexOf('apart')
    const restart = told.indexOf('grow through a restart of the service')
    expect(restart).toBeGreaterThan(last)
    expect(told.indexOf('a stranger releases nothing')).toBeLessThan(last)
    const alone = conformanceCases(subject).filter((one) => one.alone)
    expect(told.length - 1 - last).toBe(alone.length)
  })

  test('lets no cases run beside each other that share a virtual clock', () => {
    const cases = conformanceCases({ ...subject, clock: new VirtualClock() })
    expect(cases.every(({ alone }) => alone)).toBe(true)
  })
})
