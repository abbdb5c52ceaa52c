/** The schemas with a clock that the test sets, and without random decisions. */
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { expect } from 'vitest'
import { MYSQL_CLOCK, MYSQL_NOW } from '../../packages/holdfast/test/mysql/support/clocked-store.js'

/** In the schema `played`. */
export function clockedPostgres(): {
  readonly sql: string
  /** Sets the clock to a parameter in milliseconds since the Unix epoch. */
  readonly set: string
} {
  const text = postgresSchema('played')
  const clocked = text
    .replace('v_now := clock_timestamp()', 'v_now := (select at from played.clock)')
    .replaceAll('timestamptz := clock_timestamp()', 'timestamptz := (select at from played.clock)')
    .replaceAll('clock_timestamp())', '(select at from played.clock))')
    .replaceAll('random() < 0.05', 'true')
  expect(clocked).toContain('played.clock')
  expect(clocked).not.toContain('random()')
  expect(clocked.match(/clock_timestamp\(\)/g)).toHaveLength(1) // how long a session has done nothing
  return {
    sql: `${clocked} create table played.clock (at timestamptz); insert into played.clock values (now());`,
    set: 'update played.clock set at = to_timestamp($1::numeric / 1000)',
  }
}

/** With the prefix `played_`. */
export function clockedMysql(): string {
  const clocked = mysqlSchema('played_')
    .replaceAll(MYSQL_NOW, MYSQL_CLOCK)
    .replaceAll(/rand\(\) < 0\.0\d/g, 'true')
  expect(clocked).toContain('played_clock')
  expect(clocked).not.toContain('rand()')
  expect(clocked).not.toContain('utc_timestamp')
  return `${clocked}create table played_clock (at_us bigint);\ninsert into played_clock values (0);\n`
}
