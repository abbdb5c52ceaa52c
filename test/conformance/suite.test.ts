/** Which cases the suite registers, leaves out and refuses. */
import {
  conformanceCases,
  conformanceSuite,
  type Runner,
  type Subject,
} from '@holdfast/conformance'
import { VirtualClock } from 'holdfast/testing'
import { memoryStore } from 'holdfast/memory'
import { describe, expect, test } from 'vitest'

const store = memoryStore()
const subject: Subject = { name: 'some store', traits: store.traits, open: () => store }

describe('the conformance suite', () => {
  test('has a different title for each case', () => {
    const titles = conformanceCases(subject).map(({ title }) => title)
    expect(titles).toHaveLength(new Set(titles).size)
  })

  test('fails the cases with processes without a worker and a skip', async () => {
    const killed = conformanceCases(subject).find(
      ({ title }) =>
        title === 'a waiter gets the lock of a killed holder within its TTL and a second',
    )
    expect(killed?.skipped).toBeUndefined()
    await expect(killed?.run()).rejects.toThrow(/needs a worker.*skip and its reason/)
  })

  test('leaves out a case or a group for a reason', () => {
    const reason = 'there is only one process'
    const cases = conformanceCases({
      ...subject,
      skip: [{ reason, tests: ['processes', 'a repeated downgrade succeeds'] }],
    })
    const left = cases.filter(({ skipped }) => skipped === reason)
    expect(new Set(left.map(({ group }) => group))).toEqual(new Set(['processes', 'downgrade']))
    expect(left.filter(({ group }) => group === 'downgrade')).toHaveLength(1)
  })

  test('refuses a skip without a reason, and a skip of an unknown case', () => {
    expect(() =>
      conformanceCases({ ...subject, skip: [{ reason: ' ', tests: ['steal'] }] }),
    ).toThrow(/reason/)
    expect(() =>
      conformanceCases({ ...subject, skip: [{ reason: 'old', tests: ['stael'] }] }),
    ).toThrow(/stael/)
  })

  test('shows what is left out, and why', () => {
    const titles: string[] = []
    const runner: Runner = {
      describe: (_title, register) => register(),
      test: (title) => void titles.push(title),
      skip: (title) => void titles.push(title),
    }
    conformanceSuite(
      { ...subject, skip: [{ reason: 'it is alone', tests: ['processes'] }] },
      runner,
    )
    expect(titles).toContain('a killed waiter loses its place [left out: it is alone]')
    expect(titles).toHaveLength(conformanceCases(subject).length)
  })

  test('registers the cases that may run beside others first, and apart', () => {
    const titles: string[] = []
    const runner: Runner = {
      describe: (_title, register) => register(),
      describeConcurrent(_title, register) {
        titles.push('beside')
        register()
        titles.push('apart')
      },
      test: (title) => void titles.push(title),
    }
    conformanceSuite({ ...subject, restart: () => undefined }, runner)
    const last = titles.lastIndexOf('apart')
    const restart = titles.indexOf('tokens grow through a restart of the service')
    expect(restart).toBeGreaterThan(last)
    expect(titles.indexOf('another claim id releases nothing')).toBeLessThan(last)
    const alone = conformanceCases(subject).filter((one) => one.alone)
    expect(titles.length - 1 - last).toBe(alone.length)
  })

  test('lets no cases run beside each other that share a virtual clock', () => {
    const cases = conformanceCases({ ...subject, clock: new VirtualClock() })
    expect(cases.every(({ alone }) => alone)).toBe(true)
  })
})
