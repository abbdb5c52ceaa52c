/** Addresses with a password in them: refused, and never shown. */
import { LockUsageError } from 'holdfast'
import { etcdStore } from 'holdfast/etcd'
import { zookeeperStore } from 'holdfast/zookeeper'
import { expect, test } from 'vitest'

const SECRET = 'S3CRET'

function refusal(make: () => unknown): Error {
  try {
    make()
  } catch (error) {
    return error as Error
  }
  throw new Error('it was expected to be refused')
}

test.each([
  [`http://root:${SECRET}@10.0.0.1:2379`],
  [`root:${SECRET}@10.0.0.1:2379`],
  [`root:${SECRET}@`],
])('etcdStore with the endpoint %s', (endpoint) => {
  const error = refusal(() => etcdStore({ endpoints: [endpoint] }))
  expect(error).toBeInstanceOf(LockUsageError)
  expect(error.message).not.toContain(SECRET)
  expect(error.message).toContain('credentials')
})

test.each([
  [`admin:${SECRET}@127.0.0.1:2181`],
  [`h1:2181,admin:${SECRET}@h2:2181/locks`],
  [`zk://admin:${SECRET}@127.0.0.1:2181/x`],
])('zookeeperStore with %s', (connect) => {
  const error = refusal(() => zookeeperStore({ connect }))
  expect(error).toBeInstanceOf(LockUsageError)
  expect(error.message).not.toContain(SECRET)
  expect(error.message).toContain('auth')
})
