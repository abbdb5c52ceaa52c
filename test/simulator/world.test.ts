/** The modelled world: time, clocks, processes and the network behave as their comments say. */
import { Agenda, drawMoments, Link, MachineClock, Process } from '@holdfast/simulator'
import { Dice } from '@holdfast/workload'
import { describe, expect, test } from 'vitest'

const RIGHT = { startMs: 0, wallOffMs: 0, rate: 1 }

function newProcess(agenda: Agenda, errors = RIGHT): Process {
  return new Process('p', 1, agenda, new MachineClock(agenda, errors), new Dice(1))
}

async function runTo(agenda: Agenda, untilMs: number): Promise<void> {
  await agenda.run(untilMs, () => false)
}

describe('the agenda', () => {
  test('lets things happen in the order of time, and of entry at one time', async () => {
    const agenda = new Agenda()
    const seen: string[] = []
    for (const [atMs, name] of [
      [5, 'c'],
      [1, 'a'],
      [5, 'd'],
      [3, 'b'],
    ] as const) {
      agenda.at(atMs, () => seen.push(`${name}@${agenda.nowMs}`))
    }
    agenda.at(4, () => seen.push('never')).cancel()
    await runTo(agenda, 10)
    expect(seen).toEqual(['a@1', 'b@3', 'c@5', 'd@5'])
    expect(agenda.nowMs).toBe(10)
  })

  test('lets all promises settle before the next event', async () => {
    const agenda = new Agenda()
    const seen: string[] = []
    const deep = async (): Promise<void> => {
      for (let hop = 0; hop < 100; hop += 1) await Promise.resolve()
      seen.push('settled')
    }
    agenda.at(1, () => void deep())
    agenda.at(1, () => seen.push('next'))
    await runTo(agenda, 2)
    expect(seen).toEqual(['settled', 'next'])
  })

  test('runs the end of a tick before events that fell due during the tick', async () => {
    const agenda = new Agenda(() => 2)
    const seen: string[] = []
    agenda.at(1, () => {
      agenda.passMoment()
      seen.push(`tick until ${agenda.nowMs}`)
      agenda.afterEvent(() => seen.push('end of tick'))
    })
    agenda.at(2, () => seen.push(`next at ${agenda.nowMs}`))
    await runTo(agenda, 10)
    expect(seen).toEqual(['tick until 3', 'end of tick', 'next at 3'])
  })
})

describe('a machine', () => {
  test('has a monotonic clock of its own rate, and a wall clock that can be set', async () => {
    const agenda = new Agenda()
    const clock = new MachineClock(agenda, { startMs: 100, wallOffMs: 7, rate: 1.01 })
    await runTo(agenda, 1000)
    expect(clock.monotonicMs()).toBeCloseTo(1110)
    expect(clock.trueMs(1110)).toBeCloseTo(1000)
    const before = clock.wallMs()
    clock.stepWall(-500)
    expect(clock.wallMs() - before).toBeCloseTo(-500)
    expect(clock.monotonicMs()).toBeCloseTo(1110)
  })

  test('stops its monotonic clock while it sleeps, and not its wall clock', async () => {
    const agenda = new Agenda()
    const clock = new MachineClock(agenda, RIGHT)
    const wallMs = clock.wallMs()
    await runTo(agenda, 100)
    clock.sleep()
    await runTo(agenda, 600)
    clock.wake()
    await runTo(agenda, 700)
    expect(clock.monotonicMs()).toBeCloseTo(200)
    expect(clock.wallMs() - wallMs).toBeCloseTo(700)
  })
})

describe('a process', () => {
  test('that is stopped runs what fell due when it wakes: a look first, then timers, then messages', async () => {
    const agenda = new Agenda()
    const process = newProcess(agenda)
    const seen: string[] = []
    process.onWake = () => void seen.push(`look at ${Math.round(process.monotonicMs())}`)
    process.timer(50, () => seen.push('timer'))
    agenda.at(10, () => process.stop())
    agenda.at(20, () => process.receive(() => seen.push('message')))
    agenda.at(500, () => process.resume())
    await runTo(agenda, 499)
    expect(seen).toEqual([])
    await runTo(agenda, 600)
    expect(seen).toEqual(['look at 500', 'timer', 'message'])
  })

  test('reads a later time each time it looks at a clock', () => {
    const process = newProcess(new Agenda(drawMoments(1)))
    const readings = Array.from({ length: 10 }, () => process.monotonicMs())
    expect(readings).toEqual([...new Set(readings)].toSorted((a, b) => a - b))
    expect(readings.at(-1)).toBeLessThan(1)
  })

  test('has timers that fire up to a millisecond early, and some milliseconds late', async () => {
    const agenda = new Agenda()
    const process = newProcess(agenda)
    const offMs: number[] = []
    for (let nth = 0; nth < 300; nth += 1) {
      agenda.at(nth * 0.37, () => {
        const dueMs = agenda.nowMs + 50
        process.timer(50, () => offMs.push(agenda.nowMs - dueMs))
      })
    }
    await runTo(agenda, 1000)
    expect(offMs).toHaveLength(300)
    expect(Math.min(...offMs)).toBeGreaterThan(-1)
    expect(Math.min(...offMs)).toBeLessThan(-0.5)
    expect(Math.max(...offMs)).toBeGreaterThan(0.2)
  })

  test('that slept with its machine has its timers later', async () => {
    const agenda = new Agenda()
    const process = newProcess(agenda)
    let firedMs = 0
    process.timer(100, () => (firedMs = agenda.nowMs))
    agenda.at(50, () => {
      process.stop()
      process.machine.sleep()
    })
    agenda.at(1050, () => {
      process.machine.wake()
      process.resume()
    })
    await runTo(agenda, 2000)
    expect(firedMs).toBeGreaterThanOrEqual(1100)
    expect(firedMs).toBeLessThan(1110)
  })

  test('that was killed does nothing any more', async () => {
    const agenda = new Agenda()
    const process = newProcess(agenda)
    process.timer(10, () => expect.unreachable())
    process.kill()
    process.receive(() => expect.unreachable())
    process.resume()
    await runTo(agenda, 100)
    expect(process.alive).toBe(false)
  })
})

describe('a link', () => {
  test('keeps the order of each connection, and not that of several', async () => {
    const agenda = new Agenda()
    const link = new Link(agenda, new Dice(3), 2)
    link.conditions.meanMs = 20
    const arrived: [number, number][] = []
    for (let nth = 0; nth < 40; nth += 1) link.request(nth % 2, () => arrived.push([nth % 2, nth]))
    await runTo(agenda, 10_000)
    const order = arrived.map(([, nth]) => nth)
    for (const lane of [0, 1]) {
      const its = arrived.filter(([over]) => over === lane).map(([, nth]) => nth)
      expect(its).toEqual(its.toSorted((a, b) => a - b))
    }
    expect(order).toHaveLength(40)
    expect(order).not.toEqual(order.toSorted((a, b) => a - b))
  })

  test('that is cut drops what is sent, or delivers it when it is whole again', async () => {
    for (const cut of ['drop', 'hold'] as const) {
      const agenda = new Agenda()
      const link = new Link(agenda, new Dice(1), 1)
      let arrived = 0
      link.conditions.cut = cut
      link.request(0, () => (arrived += 1))
      link.reply(0, () => (arrived += 1))
      await runTo(agenda, 1000)
      expect(arrived).toBe(0)
      link.mend()
      link.wake(() => (arrived += 1))
      await runTo(agenda, 2000)
      expect(arrived).toBe(cut === 'hold' ? 3 : 1)
    }
  })

  test('loses and doubles as often as its conditions say', async () => {
    const agenda = new Agenda()
    const link = new Link(agenda, new Dice(1), 1)
    Object.assign(link.conditions, { loseRequest: 1, loseReply: 1, loseWake: 1 })
    link.request(0, () => expect.unreachable())
    link.reply(0, () => expect.unreachable())
    link.wake(() => expect.unreachable())
    Object.assign(link.conditions, { loseRequest: 0, twice: 1 })
    let arrived = 0
    link.request(0, () => (arrived += 1))
    await runTo(agenda, 2000)
    expect(arrived).toBe(2)
  })
})
