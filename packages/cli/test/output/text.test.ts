import { describe, expect, it } from 'vitest'
import { redact } from '../../dist/output/text.js'

describe('redact', () => {
  it.each([
    [
      `psql 'postgres://u:it"s@h/db?password=a"b' -c x`,
      `psql 'postgres://***@h/db?password=*** -c x`,
    ],
    ['curl redis:app:hunter2@h', 'curl redis:***@h'],
    ['my h/db?ssl={"passphrase":"hun ter2"}', 'my h/db?ssl=***'],
  ])('keeps the password out of %s', (text, shown) => {
    expect(redact(text)).toBe(shown)
  })
})
