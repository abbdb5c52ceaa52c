/** Without faults every control works as a lock: it grants, it excludes, and it grants again. */
import { CONTROLS, goodLock } from '@holdfast/broken-locks'
import { describe, expect, test } from 'vitest'
import { World } from './support/world.js'

const SUBJECTS = [{ id: 'the good lock', create: goodLock }, ...CONTROLS]

describe.each(SUBJECTS)('$id, without faults', ({ create }) => {
  test('grants, reports the release, and grants again', async () => {
    const world = new World(create)
    const [one, two] = [world.client(), world.client()]
    const lease = await one.tryFor(1000)
    expect(lease?.held).toBe(true)
    expect(await lease?.release()).toBe('released')
    expect(lease?.held).toBe(false)
    expect((await two.tryFor(1000))?.held).toBe(true)
  })

  test('keeps a second client out until the release, and lets it in soon after', async () => {
    const world = new World(create)
    const [one, two] = [world.client(), world.client()]
    const lease = await one.tryFor(1000)
    expect(await two.tryFor(300)).toBeUndefined()
    const waiting = two.start()
    await world.clock.advance(100)
    await lease?.release()
    await world.clock.advance(200)
    expect(waiting.lease?.held).toBe(true)
    expect(world.violations()).not.toContain('exclusion')
  })
})
