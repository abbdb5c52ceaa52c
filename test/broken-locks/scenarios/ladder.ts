/** The traps of the ladder, each cured by the next rung. */
import { granted, type Scenario } from '../support/scenario.js'

export const LADDER: Record<string, Scenario> = {
  'v1-setnx': {
    curedBy: 'v2-setnx-expire',
    async run({ clock, client }) {
      const [one, two] = [client(), client()]
      granted(await one.tryFor(100))
      one.kill()
      await clock.advance(10_000)
      return (await two.tryFor(1000)) === undefined
    },
  },
  'v2-setnx-expire': {
    curedBy: 'v3-plain-del',
    async run({ clock, client }) {
      const [one, two] = [client(), client()]
      one.faults = (name) => {
        if (name !== 'EXPIRE') return undefined
        one.kill()
        return { drop: 'request' }
      }
      await one.tryFor(100)
      one.kill()
      await clock.advance(10_000)
      return (await two.tryFor(1000)) === undefined
    },
  },
  'v3-plain-del': {
    curedBy: 'v4-owner',
    async run({ clock, client }) {
      const [one, two, three] = [client(), client(), client()]
      const late = granted(await one.tryFor(100))
      await clock.advance(1500)
      const current = granted(await two.tryFor(100))
      await late.release()
      const third = await three.tryFor(300)
      return third !== undefined && current.held
    },
  },
  'v4-owner': {
    curedBy: 'v5-watchdog',
    async run({ clock, client }) {
      const [one, two] = [client(), client()]
      const slow = granted(await one.tryFor(100))
      await clock.advance(1500)
      return (await two.tryFor(100)) !== undefined && slow.held
    },
  },
  'v5-watchdog': {
    curedBy: 'v6-reentrant',
    async run({ client }) {
      const one = client()
      granted(await one.tryFor(100))
      return (await one.tryFor(10_000)) === undefined
    },
  },
  'v6-reentrant': {
    async run({ client }) {
      const [one, two] = [client(), client()]
      one.faults = () => ({ twice: true })
      const lease = granted(await one.tryFor(100))
      one.faults = () => undefined
      const released = await lease.release()
      return released === 'released' && (await two.tryFor(500)) === undefined
    },
  },
}
