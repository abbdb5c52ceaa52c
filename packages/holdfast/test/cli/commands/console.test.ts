/** `holdfast console`: access, looks, steals, a store that is away, and its end. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import type { ActionView, ConsoleView } from '../../../dist/console/view.js'
import { Box } from '../support/holdfast.js'
import type { Program } from '../support/program.js'

interface Page {
  readonly program: Program
  readonly url: string
  readonly token: string
  view(query?: string): Promise<ConsoleView>
}

async function start(box: Box, args: readonly string[] = []): Promise<Page> {
  const program = box.holdfast(['console', ...args])
  const [, url = '', token = ''] = await program.prints(/(http:\S+\/)#token=(\S+)/)
  const headers = { authorization: `Bearer ${token}` }
  return {
    ...{ program, url, token },
    async view(query = '') {
      const answer = await fetch(`${url}api/view${query}`, { headers })
      expect(answer.status).toBe(200)
      return (await answer.json()) as ConsoleView
    },
  }
}

/** The view of a lock with a holder. A busy store may answer a look too late to be in the view. */
async function held(page: Page, lock: string): Promise<ConsoleView> {
  const found: ConsoleView[] = []
  const look = async (): Promise<number | undefined> => {
    found.unshift(await page.view(`?lock=${lock}`))
    return found[0]?.lock?.holders.length
  }
  await expect.poll(look, { timeout: 10_000 }).toBe(1)
  return found[0] as ConsoleView
}

function steal(page: Page, body: object): Promise<Response> {
  return fetch(`${page.url}api/steal`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${page.token}`,
      'content-type': 'application/json',
      'x-holdfast-console': '1',
    },
    body: JSON.stringify(body),
  })
}

/** `fetch` sets Host by itself. */
function statusFor(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
      .once('error', reject)
      .end()
  })
}

test('the page needs the token that stands in the printed address, and the host of this machine', async () => {
  const page = await start(new Box())
  expect(page.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
  const html = await fetch(page.url)
  expect([html.status, html.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const api = `${page.url}api/view`
  const authorization = `Bearer ${page.token}`
  expect((await fetch(api)).status).toBe(401)
  expect((await fetch(api, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
  expect(await statusFor(api, { authorization, host: 'evil.example' })).toBe(421)
  expect(await statusFor(api, { authorization, host: 'localhost:1' })).toBe(200)
  expect(await statusFor(api, { authorization, 'sec-fetch-site': 'cross-site' })).toBe(403)
})

test('a look shows the holder; without --allow-steal a steal is refused, and audited', async () => {
  const box = new Box()
  const page = await start(box)
  await box.holder('job', ['--label', 'nightly'])
  const { lock, store, may } = await held(page, 'job')
  expect(lock?.holders).toMatchObject([{ owner: { label: 'nightly' } }])
  expect([store.kind, may]).toEqual(['embedded', ['look']])
  expect(lock?.commands[0]?.command).toMatch(/^holdfast inspect --store embedded:\S+ -- job$/)
  const claimId = lock?.holders[0]?.claimId
  const body = { lock: 'job', typed: 'job', claimId, reason: 'hangs', now: false }
  expect((await steal(page, body)).status).toBe(403)
  await page.program.prints(/holdfast: \S+ \S+@\S+ steal "job" claim \S+: refused reason "hangs"/)
})

test('with --allow-steal the run that holds the lock ends, and its message has the reason', async () => {
  const box = new Box()
  const page = await start(box, ['--allow-steal'])
  const run = await box.holder('job', ['--ttl', '6s'])
  const claimId = (await held(page, 'job')).lock?.holders[0]?.claimId
  const body = { lock: 'job', typed: 'job', claimId, reason: 'it hangs', now: false }
  const answer = (await (await steal(page, body)).json()) as ActionView
  expect(answer).toMatchObject({ outcome: 'stolen' })
  await run.prints('it hangs')
  await page.program.prints(/steal "job" claim \S+: stolen reason "it hangs"/)
})

test('SIGINT ends it with 0', async () => {
  const page = await start(new Box())
  await page.view()
  page.program.kill('SIGINT')
  expect(await page.program.code()).toBe(0)
})

test('while the store is away the page has that, with the findings of doctor and no password', async () => {
  const box = new Box()
  const page = await start(box, ['--store', 'redis://user:hunter2@127.0.0.1:1/0'])
  await eventually('the findings are there', async () => {
    const { store } = await page.view()
    return store.state === 'away' && (store.findings ?? []).some(({ isFine }) => !isFine)
  })
  expect(JSON.stringify(await page.view('?lock=a'))).not.toContain('hunter2')
})

test.each([
  ['another address without a token of yours', ['--listen', '0.0.0.0:0'], 64],
  ['no address', ['--listen', 'x'], 64],
  ['a file that is not there', ['--token-file', '/nowhere/token'], 78],
  ['an operand', ['job'], 64],
])('%s is refused', async (_, args, code) => {
  expect(await new Box().holdfast(['console', ...args]).code()).toBe(code)
})

test('a token of a file is taken, not printed, and must be for its owner alone', async () => {
  const box = new Box()
  const file = box.file('token')
  writeFileSync(file, 'a-long-enough-token\n', { mode: 0o644 })
  expect(await box.holdfast(['console', '--token-file', file]).code()).toBe(78)
  writeFileSync(box.file('own'), 'a-long-enough-token\n', { mode: 0o600 })
  const program = box.holdfast([
    'console',
    '--token-file',
    box.file('own'),
    '--listen',
    '0.0.0.0:0',
  ])
  const [, port] = await program.prints(/http:\/\/0\.0\.0\.0:(\d+)\/$/m)
  const headers = { authorization: 'Bearer a-long-enough-token' }
  const api = `http://127.0.0.1:${port}/api/view`
  expect((await fetch(api, { headers })).status).toBe(200)
  expect(await statusFor(api, { ...headers, host: 'evil.example' })).toBe(421)
  expect(program.stdout).not.toContain('a-long-enough')
})
