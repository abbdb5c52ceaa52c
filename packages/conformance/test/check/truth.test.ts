/** Holds within what the server held, and true releases, on short histories. */
import { describe, expect, test } from 'vitest'
import { broken, story } from './support/story.js'
import { checkHistory } from '@holdfast/conformance'

describe('a hold', () => {
  const promised = { truth: true }
  const hold = '3 a acquire ok token=7 claim=c\n8 a release invoke'

  test('is within what the server held', () => {
    expect(
      broken(`${hold}\n20 s truth info owner=c token=7 start_ns=2 end_ns=9`, promised),
    ).toEqual([])
    expect(
      broken(`${hold}\n20 s truth info owner=c token=7 start_ns=3 end_ns=8`, promised),
    ).toEqual([])
    expect(broken(`${hold}\n20 s truth info owner=c token=7 start_ns=2`, promised)).toEqual([])
  })

  test('is not, when the server ended it earlier or began it later', () => {
    const [late] = checkHistory(
      story(`${hold}\n20 s truth info owner=c token=7 start_ns=2 end_ns=7`),
      {
        promised,
      },
    )
    expect(late).toMatchObject({ property: 'truth' })
    expect(late?.message).toMatch(/held by a .*token 7.*longer than the server held it/)
    expect(late?.events).toHaveLength(3)
    expect(
      broken(`${hold}\n20 s truth info owner=c token=7 start_ns=4 end_ns=9`, promised),
    ).toEqual(['truth'])
  })

  test('is not, when the server held it for another token, another claim, or another lock', () => {
    for (const other of ['owner=c token=6', 'owner=d token=7', 'owner=c token=7 key=other']) {
      expect(
        broken(`${hold}\n20 s truth info ${other} start_ns=1 end_ns=9`, promised),
        other,
      ).toEqual(['truth'])
    }
    expect(broken(hold, promised)).toEqual(['truth'])
  })

  test('may be handed on inside the block of tokens that was granted, and no further', () => {
    const rest = 'claim=c\n10 b release invoke'
    const truth = '20 s truth info owner=c token=7 tokens=2 start_ns=2 end_ns=10'
    expect(broken(`${hold}\n9 b acquire ok token=8 ${rest}\n${truth}`, promised)).toEqual([])
    expect(broken(`${hold}\n9 b acquire ok token=9 ${rest}\n${truth}`, promised)).toEqual(['truth'])
  })

  test('lasts over a restart of the server that keeps the lock, and not over a gap', () => {
    const before = '20 s truth info owner=c token=7 start_ns=2 end_ns=5'
    expect(
      broken(`${hold}\n${before}\n20 s truth info owner=c token=7 start_ns=5 end_ns=9`, promised),
    ).toEqual([])
    expect(
      broken(`${hold}\n${before}\n20 s truth info owner=c token=7 start_ns=6 end_ns=9`, promised),
    ).toEqual(['truth'])
  })

  test('does not continue in another claim with the same token', () => {
    const before = '20 s truth info owner=c token=7 start_ns=2 end_ns=5'
    const after = '20 s truth info owner=d token=7 start_ns=5 end_ns=9'
    expect(broken(`${hold}\n${before}\n${after}`, promised)).toEqual(['truth'])
  })

  test('is found by its claim where a store has no tokens', () => {
    const plain = '3 a acquire ok claim=c\n8 a release invoke'
    expect(broken(`${plain}\n20 s truth info owner=c start_ns=2 end_ns=9`, promised)).toEqual([])
    expect(broken(`${plain}\n20 s truth info owner=d start_ns=2 end_ns=9`, promised)).toEqual([
      'truth',
    ])
  })

  test('may differ by the allowed slack', () => {
    const truth = '20 s truth info owner=c token=7 start_ns=4 end_ns=7'
    expect(broken(`${hold}\n${truth}`, { truth: { slackNs: 1n } })).toEqual([])
  })

  test('that ended before it was reported is ignored', () => {
    expect(broken('9 a acquire ok token=7 deadline_ns=8', promised)).toEqual([])
  })
})

describe('the answer "released"', () => {
  const promised = { release: true }
  const hold = '3 a acquire ok token=7 claim=c deadline_ns=6\n8 a release invoke\n10 a release ok'
  const truth = (times: string): string => `${hold}\n20 s truth info owner=c token=7 ${times}`

  test('is true when the server held the lock until then', () => {
    expect(broken(truth('start_ns=2 end_ns=9'), promised)).toEqual([])
    expect(broken(truth('start_ns=2 end_ns=8'), promised)).toEqual([])
  })

  test('is false when the lock had ended before or lasts after', () => {
    expect(broken(truth('start_ns=2 end_ns=7'), promised)).toEqual(['release'])
    expect(broken(truth('start_ns=2 end_ns=11'), promised)).toEqual(['release'])
    expect(broken(truth('start_ns=2'), promised)).toEqual(['release'])
  })

  test('is false when the server never held it', () => {
    expect(
      broken(`${hold}\n20 s truth info owner=d token=9 start_ns=2 end_ns=9`, promised),
    ).toEqual(['release'])
  })

  test('is true when the server forgot the grant and granted the same claim again', () => {
    const again = '\n21 s truth info owner=c token=8 start_ns=5 end_ns=9'
    expect(broken(truth('start_ns=2 end_ns=4') + again, promised)).toEqual([])
    const other = again.replace('owner=c', 'owner=d')
    expect(broken(truth('start_ns=2 end_ns=4') + other, promised)).toEqual(['release'])
  })

  test('is false when the claim was granted again and lasts, or another one had the lock between', () => {
    const again = '\n21 s truth info owner=c token=9 start_ns=7'
    const forgotten = truth('start_ns=2 end_ns=4')
    expect(broken(`${forgotten}${again} end_ns=9`, promised)).toEqual([])
    expect(broken(forgotten + again, promised)).toEqual(['release'])
    const between = '\n21 s truth info owner=d token=8 start_ns=5 end_ns=6'
    expect(broken(`${forgotten}${between}${again} end_ns=9`, promised)).toEqual(['release'])
  })

  test('is true when the lease was handed on', () => {
    expect(broken(truth('tokens=32 start_ns=2 end_ns=30'), promised)).toEqual([])
  })

  test('is not checked for `lost` or without an answer', () => {
    for (const answer of ['release fail', 'release info', 'held fail']) {
      const other = hold.replace('release ok', answer)
      expect(
        broken(`${other}\n20 s truth info owner=c token=7 start_ns=2 end_ns=5`, promised),
      ).toEqual([])
    }
  })
})

/** A release that is answered `released`, though the deadline had passed. */
function late(more = ''): string {
  return `3 a acquire ok deadline_ns=6${more}\n9 a release invoke\n10 a release ok`
}

describe('the answer "released", without the server\'s truth,', () => {
  const promised = { release: true }

  test('is false when another client was granted before the release', () => {
    expect(broken(`${late()}\n7 b acquire ok`, promised)).toEqual(['release'])
    expect(broken(`${late()}\n9 b acquire ok`, promised)).toEqual([])
    expect(
      broken(`${late().replace('release ok', 'release fail')}\n7 b acquire ok`, promised),
    ).toEqual([])
  })

  test('is not false because of a grant that ended before it was reported', () => {
    expect(broken(`${late()}\n7 b acquire ok deadline_ns=5`, promised)).toEqual([])
  })

  test('of a downgraded writer is not false because of later readers', () => {
    const writer = '1 a acquire ok mode=exclusive capacity=3\n2 a downgrade invoke weight=1'
    const ends = '8 a release invoke\n9 a release ok'
    expect(broken(`${writer}\n5 b acquire ok capacity=3\n${ends}`, promised)).toEqual([])
    expect(
      broken(`${writer}\n7 b acquire ok mode=exclusive capacity=3\n${ends}`, promised),
    ).toContain('release')
  })

  test('is not false because of an earlier grant that was reported later', () => {
    expect(broken(`${late(' token=2')}\n4 b acquire ok token=1`, promised)).not.toContain('release')
    expect(broken(`${late(' token=2')}\n4 b acquire ok token=3`, promised)).toContain('release')
  })

  test('of a reader is false because of a writer, and not because of readers', () => {
    const reader = late(' capacity=3')
    expect(broken(`${reader}\n7 b acquire ok capacity=3`, promised)).toEqual([])
    expect(
      broken(
        `${reader}\n7 b acquire ok capacity=3\n8 c acquire ok mode=exclusive capacity=3`,
        promised,
      ),
    ).toContain('release')
  })
})

describe('held', () => {
  const promised = { held: true }

  test('is true up to the deadline', () => {
    expect(broken('1 a acquire ok deadline_ns=6\n5 a held ok\n6 a held fail', promised)).toEqual([])
    expect(
      broken('1 a acquire ok deadline_ns=6\n5 a renew ok deadline_ns=9\n6 a held ok', promised),
    ).toEqual([])
    expect(broken('1 a acquire ok\n6 a held ok', promised)).toEqual([])
  })

  test('is false from the deadline on, after the loss, and after the release', () => {
    expect(broken('1 a acquire ok deadline_ns=6\n6 a held ok', promised)).toEqual(['held'])
    expect(broken('1 a acquire ok\n5 a lost info\n6 a held ok', promised)).toEqual(['held'])
    expect(broken('1 a acquire ok\n5 a release invoke\n6 a held ok', promised)).toEqual(['held'])
  })
})
