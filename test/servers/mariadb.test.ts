import { expect, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'

test('a private MariaDB starts, keeps what it has through a crash, and is removed', async () => {
  const server = await startMariadb({ durable: true })
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
