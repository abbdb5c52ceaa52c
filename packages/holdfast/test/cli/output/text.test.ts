import { describe, expect, it } from 'vitest'
import { operatorText } from '../../../dist/cli/output/operator-text.js'
import { redact } from '../../../dist/url/redact.js'

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

it('a damaged handle speaks of the command that printed it', () => {
  const text = 'This is no whole handle. Pass the text that lease.export() returned, unchanged.'
  expect(operatorText(text, 'USAGE', undefined)).toBe(
    'This is no whole handle. Write the handle that holdfast acquire printed, unchanged.',
  )
})
