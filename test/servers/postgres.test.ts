import { expect, test } from 'vitest'
import { startPostgres } from '@holdfast/servers/postgres'

test('a private PostgreSQL starts, keeps what it has through a crash, and is removed', async () => {
  const server = await startPostgres({ durable: true })
  try {
    server.psql('create table kept (n int); insert into kept values (7)')
    await server.service.crash()
    await server.service.start()
    expect(server.psql('select n from kept')).toBe('7')
  } finally {
    await server.remove()
  }
  expect(() => server.psql('select 1')).toThrow()
})
