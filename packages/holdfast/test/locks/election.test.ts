/** Elections in the turns that matter: listeners that fail. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('a listener that throws is an uncaught exception, and fails neither the campaign nor the other listeners', () => {
  const program = `
    import { createLocks } from 'holdfast'
    import { memoryStore } from 'holdfast/memory'
    process.on('uncaughtException', (error) => console.log('uncaught', error.message))
    const election = createLocks(memoryStore()).election('scheduler')
    for (const event of ['elected', 'resigned']) {
      election.on(event, () => { throw new Error(event) })
      election.on(event, () => console.log('told', event))
    }
    const lease = await election.campaign()
    console.log('leads', election.isLeader && lease.held)
    console.log('resigned', await election.resign())`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(stdout.trim().split('\n').toSorted()).toEqual(
    [
      'told elected',
      'uncaught elected',
      'leads true',
      'told resigned',
      'uncaught resigned',
      'resigned true',
    ].toSorted(),
  )
})
