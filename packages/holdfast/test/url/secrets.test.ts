/** Secrets in what is shown of a URL. */
import { expect, test } from 'vitest'
import { openStore } from '../../dist/url/index.js'

test.each(['pasword', 'passwrd', 'Passwort', 'pass', 'pasphrase'])(
  'the value of a misspelt option %s stands in no error',
  async (name) => {
    for (const url of ['postgres://h/db', 'mysql://h/db', 'redis://h']) {
      const error: unknown = await openStore(`${url}?${name}=sesame`).catch((caught) => caught)
      expect(error).toBeInstanceOf(Error)
      expect((error as Error).message).not.toContain('sesame')
    }
  },
)
