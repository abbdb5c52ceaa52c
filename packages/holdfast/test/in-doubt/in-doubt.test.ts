/** Requests whose outcome is unknown: what is remembered of them, and how they are repeated. */
import { VirtualClock } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { ClaimsInDoubt, MOST_IN_DOUBT } from '../../dist/in-doubt/claims-in-doubt.js'
import { RepeatedRequests, repeatUntilAnswered } from '../../dist/in-doubt/repeated-requests.js'

describe('a claim in doubt', () => {
  test('is in doubt for its time, and until its outcome is known', async () => {
    const clock = new VirtualClock()
    const claims = new ClaimsInDoubt(clock)
    claims.add('short', 100)
    claims.add('long', 1000)
    claims.add('known', 1000)
    claims.delete('known')
    expect(['short', 'long', 'known', 'another'].map((key) => claims.has(key))).toEqual([
      true,
      true,
      false,
      false,
    ])
    await clock.advance(100)
    expect([claims.has('short'), claims.has('long')]).toEqual([false, true])
  })

  test('keeps the later of two ends', async () => {
    const clock = new VirtualClock()
    const claims = new ClaimsInDoubt(clock)
    claims.add('claim', 1000)
    claims.add('claim', 10)
    await clock.advance(500)
    expect(claims.has('claim')).toBe(true)
  })

  test('that was left out puts all in doubt for its time, also when others are known', async () => {
    const clock = new VirtualClock()
    const claims = new ClaimsInDoubt(clock)
    for (let index = 0; index < MOST_IN_DOUBT; index += 1) claims.add(`${index}`, 1000)
    expect(claims.has('left out')).toBe(false)
    claims.add('left out', 2000)
    for (let index = 0; index < MOST_IN_DOUBT; index += 1) claims.delete(`${index}`)
    expect([claims.has('left out'), claims.has('another')]).toEqual([true, true])
    await clock.advance(2000)
    expect([claims.has('left out'), claims.has('another')]).toEqual([false, false])
  })
})

test('a request is repeated until it is answered, after the pauses of its caller', async () => {
  const clock = new VirtualClock()
  const asked: number[] = []
  const answer = repeatUntilAnswered(
    () => {
      asked.push(clock.monotonicMs())
      if (asked.length < 4) throw new Error('down')
      return 'answer'
    },
    { clock, pauseMs: (failures) => 100 * failures, givesUp: () => false },
  )
  await clock.advance(10_000)
  await expect(answer).resolves.toBe('answer')
  const [firstMs = 0] = asked
  expect(asked.map((ms) => ms - firstMs)).toEqual([0, 100, 300, 600])
})

test('a request that its caller gives up rejects with the last failure, without a pause', async () => {
  const clock = new VirtualClock()
  let asked = 0
  const answer = repeatUntilAnswered(() => Promise.reject(new Error(`failure ${(asked += 1)}`)), {
    clock,
    pauseMs: () => 100,
    givesUp: (_error, failures) => failures === 2,
  })
  const settled = expect(answer).rejects.toThrow('failure 2')
  await clock.advance(1000)
  await settled
  expect(clock.timers).toBe(0)
})

function makeRequests(mostAtOnce = 2) {
  const clock = new VirtualClock()
  const service = { up: false, asked: [] as string[] }
  const when = new Map<string, 'later' | 'never'>()
  const requests = new RepeatedRequests<string, undefined>({
    clock,
    everyMs: 1000,
    mostAtOnce,
    when: (key) => when.get(key) ?? 'now',
    ask: async (key) => {
      service.asked.push(key)
      if (!service.up) throw new Error('down')
    },
  })
  return { clock, service, when, requests }
}

describe('repeated requests', () => {
  test('are made a few at a time while the service fails, in turn', async () => {
    const { clock, service, requests } = makeRequests()
    for (const key of ['a', 'b', 'c']) requests.add(key, undefined)
    await clock.advance(2000)
    expect(service.asked).toEqual(['a', 'b', 'c', 'a'])
  })

  test('are all made when the service answers again, or shows a sign of life', async () => {
    const { clock, service, requests } = makeRequests()
    for (const key of ['a', 'b', 'c', 'd', 'e']) requests.add(key, undefined)
    service.up = true
    requests.sweep()
    await clock.advance(0)
    expect(service.asked).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(requests.size).toBe(0)
    await clock.advance(1000)
    expect(clock.timers).toBe(0)
  })

  test('wait for their time, and are given up where they are needed no more', async () => {
    const { clock, service, when, requests } = makeRequests()
    service.up = true
    when.set('a', 'later').set('b', 'never')
    for (const key of ['a', 'b', 'c']) requests.add(key, undefined)
    await clock.advance(1000)
    expect(service.asked).toEqual(['c'])
    when.delete('a')
    await clock.advance(1000)
    expect(service.asked).toEqual(['c', 'a'])
    expect(requests.size).toBe(0)
  })

  test('of a new key leave at once, unless the service fails', async () => {
    const { clock, service, requests } = makeRequests()
    requests.addNew('a', undefined)
    await clock.advance(0)
    requests.addNew('b', undefined)
    await clock.advance(0)
    expect(service.asked).toEqual(['a'])
    service.up = true
    await clock.advance(1000)
    expect(service.asked).toEqual(['a', 'a', 'b'])
  })

  test('end when they are stopped', async () => {
    const { clock, service, requests } = makeRequests()
    requests.add('a', undefined)
    requests.stop()
    requests.add('b', undefined)
    await clock.advance(5000)
    expect(service.asked).toEqual([])
    expect(clock.timers).toBe(0)
  })
})
