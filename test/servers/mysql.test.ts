import { expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'

test('a private MariaDB or MySQL starts, keeps what it has through a crash, and is removed', async () => {
  const server = await startMysql({ durable: true })
  try {
    server.sql('create table kept (n int); insert into kept values (7)')
    await server.service.crash()
    await server.service.start()
    expect(server.sql('select n from kept')).toBe('7')
  } finally {
    await server.remove()
  }
  expect(() => server.sql('select 1')).toThrow()
})
