/** Who gets which answer: access, origins, headers, steals. */
import type { ActionView } from '../../dist/console/view.js'
import { locksConsole } from 'holdfast/console'
import { expect, test } from 'vitest'
import { tokenRule } from '../../dist/console/access/token-rule.js'
import { ADMIN, makeViewer, type Viewer } from './support/viewer.js'

async function errorOf(answer: Response): Promise<[number, string]> {
  const { error } = (await answer.json()) as { error: { code: string } }
  return [answer.status, error.code]
}

test.each([
  ['true', true],
  ['undefined', undefined],
  ['a name', 'ada'],
  ['no user', { may: ['look'] }],
  ['no rights', { user: 'ada' }],
  ['an unknown right', { user: 'ada', may: ['look', 'admin'] }],
  ['a prefix that is null', { user: 'ada', may: ['look'], prefix: null }],
])('authorize that answers %s refuses the request, and the log says why', async (_, access) => {
  const viewer = makeViewer()
  viewer.access = access
  expect(await errorOf(await viewer.send('/api/view'))).toEqual([403, 'FORBIDDEN'])
  expect(viewer.log).toEqual([expect.stringContaining('authorize must return')])
  expect((await viewer.send('')).status).toBe(403)
})

test('false is a plain no; without look there is no view', async () => {
  const viewer = makeViewer()
  viewer.access = false
  expect(await errorOf(await viewer.send('/api/view'))).toEqual([403, 'FORBIDDEN'])
  expect(viewer.log).toEqual([])
  viewer.access = { user: 'ada', may: [] }
  expect(await errorOf(await viewer.send('/api/view'))).toEqual([403, 'FORBIDDEN'])
})

test('a right that was withdrawn ends at the next view', async () => {
  const viewer = makeViewer()
  expect((await viewer.send('/api/view')).status).toBe(200)
  viewer.access = false
  expect((await viewer.send('/api/view')).status).toBe(403)
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['another port or subdomain', { 'sec-fetch-site': 'same-site' }],
  ['a foreign origin', { origin: 'https://evil.example' }],
  ['a sandboxed page', { origin: 'null' }],
])('requests of %s are refused', async (_, headers) => {
  const viewer = makeViewer()
  const host = { host: '127.0.0.1:4000' }
  const view = await viewer.send('/api/view', { headers: { ...host, ...headers } })
  expect(await errorOf(view)).toEqual([403, 'FOREIGN_ORIGIN'])
  expect(await errorOf(await viewer.post({}, { ...host, ...headers }))).toEqual([
    ...[403, 'FOREIGN_ORIGIN'],
  ])
})

test('behind a proxy that rewrites Host the option origin decides', async () => {
  const viewer = makeViewer({ origin: 'https://admin.example.com' })
  const from = (origin: string): Promise<Response> =>
    viewer.send('/api/view', { headers: { host: 'inner:80', origin } })
  expect((await from('https://admin.example.com')).status).toBe(200)
  expect((await from('http://admin.example.com')).status).toBe(403)
  expect((await from('http://inner:80')).status).toBe(403)
})

test('a POST needs JSON and a header of its own, as no form and no simple request has', async () => {
  const viewer = makeViewer()
  expect(await errorOf(await viewer.post({}, { 'content-type': 'text/plain' }))).toEqual([
    ...[415, 'NOT_JSON'],
  ])
  expect(await errorOf(await viewer.post({}, { 'x-holdfast-console': '' }))).toEqual([
    ...[403, 'NO_HEADER'],
  ])
  expect(await errorOf(await viewer.post({}))).toEqual([400, 'BAD_REQUEST'])
  expect(await errorOf(await viewer.post('x'.repeat(20_000)))).toEqual([413, 'TOO_LONG'])
})

test('routes are decided by the end of the path, with and without the last slash', async () => {
  const viewer = makeViewer()
  for (const path of ['', '/', '/anything', '?lock=a'])
    expect((await viewer.send(path)).headers.get('content-type')).toMatch(/^text\/html/)
  for (const path of ['/api/view', '/api/view/', '/deep/api/view'])
    expect((await viewer.send(path)).headers.get('content-type')).toMatch(/json/)
  const put = await viewer.send('/api/view', { method: 'PUT' })
  expect(put.status).toBe(405)
  expect((await viewer.send('/api/steal')).status).toBe(405)
})

test('each answer has the headers that keep a browser from misusing it', async () => {
  const viewer = makeViewer()
  for (const path of ['', '/api/view', '/api/view?store=x']) {
    const { headers } = await viewer.send(path)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('the same view again is 304; another look or another user has another tag', async () => {
  const viewer = makeViewer()
  await viewer.client().mutex('a').acquire()
  await viewer.view()
  const first = await viewer.send('/api/view')
  const etag = first.headers.get('etag') ?? ''
  const again = (): Promise<Response> =>
    viewer.send('/api/view', { headers: { 'if-none-match': `"x", W/${etag}` } })
  const same = await again()
  expect([same.status, await same.text()]).toEqual([304, ''])
  viewer.access = { user: 'bob', may: ['look'] }
  expect((await again()).status).toBe(200)
  viewer.access = ADMIN
  await viewer.clock.advance(2_000)
  expect((await again()).status).toBe(200)
})

interface Held {
  readonly viewer: Viewer
  readonly body: { lock: string; claimId: string; typed: string; reason: string; now: boolean }
  readonly actions: ActionView[]
}

async function held(parts: Parameters<typeof makeViewer>[0] = {}): Promise<Held> {
  const actions: ActionView[] = []
  const viewer = makeViewer({ onAction: (action) => void actions.push(action), ...parts })
  const lease = await viewer.client().mutex('a').acquire()
  await viewer.view()
  const body = { lock: 'a', claimId: lease.claimId, typed: 'a', reason: 'hangs', now: false }
  return { viewer, body, actions }
}

test('a steal ends the claim that was looked at; the holder learns user and reason', async () => {
  const { viewer, body, actions } = await held()
  viewer.store.stallRenewals()
  const answer = await viewer.post(body)
  expect(await answer.json()).toMatchObject({ outcome: 'stolen', user: 'ada', action: 'steal' })
  const { lock, actions: shown } = await viewer.view({ lock: 'a' })
  expect(lock?.holders).toMatchObject([{ isStolen: true, stealReason: 'ada: hangs' }])
  expect(shown).toEqual(actions)
  expect(lock?.history).toMatchObject([{ what: 'stolen', text: 'ada: hangs' }])
})

test('secrets in the reason of a steal reach its holder, and no answer or audit', async () => {
  const { viewer, body, actions } = await held()
  const reason = 'see redis://user:hunter2@cache/0'
  const answer = await viewer.post({ ...body, reason, now: true })
  expect(await answer.text()).not.toContain('hunter2')
  expect(JSON.stringify(await viewer.view({ lock: 'a' }))).not.toContain('hunter2')
  expect(actions).toMatchObject([{ reason: 'see redis://***@cache/0' }])
})

test('steal now frees the lock at once', async () => {
  const { viewer, body } = await held()
  const answer = await viewer.post({ ...body, now: true })
  expect(await answer.json()).toMatchObject({ outcome: 'stolen', action: 'steal-now', freeInMs: 0 })
  const { lock } = await viewer.view({ lock: 'a' })
  expect(lock).toMatchObject({ isFree: true, history: [{ what: 'ended' }, { what: 'stolen' }] })
})

test('the steal of a claim that is gone takes nothing from its successor', async () => {
  const { viewer, body } = await held()
  const answer = await viewer.post({ ...body, claimId: 'another' })
  expect(await answer.json()).toMatchObject({ outcome: 'nothing-stolen' })
  expect((await viewer.view({ lock: 'a' })).lock?.holders).toMatchObject([{ isStolen: false }])
})

test.each([
  ['of another name typed', { typed: 'b' }, ADMIN, [400, 'NOT_CONFIRMED']],
  ['without a reason', { reason: ' ' }, ADMIN, [400, 'NO_REASON']],
  ['with a reason that is too long', { reason: 'x'.repeat(300) }, ADMIN, [400, 'BAD_REASON']],
  ['without the right', {}, { user: 'bob', may: ['look'] }, [403, 'FORBIDDEN']],
  [
    'outside of the prefix',
    {},
    { user: 'bob', may: ['look', 'steal'], prefix: 'team-a:' },
    [404, 'NO_SUCH_LOCK'],
  ],
])('a steal %s is refused, and noted', async (_, change, access, expected) => {
  const { viewer, body, actions } = await held()
  viewer.access = access
  expect(await errorOf(await viewer.post({ ...body, ...change }))).toEqual(expected)
  expect(actions).toMatchObject([{ outcome: 'refused', lock: 'a' }])
  viewer.access = ADMIN
  expect((await viewer.view({ lock: 'a' })).lock?.holders).toMatchObject([{ isStolen: false }])
})

test('a read-only console refuses each steal, and offers none', async () => {
  const { viewer, body, actions } = await held({ isReadOnly: true })
  expect(await errorOf(await viewer.post(body))).toEqual([403, 'READ_ONLY'])
  expect(actions).toMatchObject([{ outcome: 'refused' }])
  expect((await viewer.view()).may).toEqual(['look'])
})

test('onAction that fails undoes no steal; the last 200 actions are kept', async () => {
  const { viewer, body } = await held({
    onAction: () => {
      throw new Error('disk full')
    },
  })
  for (let index = 0; index < 210; index += 1) await viewer.post({ ...body, claimId: `c${index}` })
  expect((await viewer.view()).actions).toHaveLength(200)
  expect(viewer.log[0]).toBe('onAction failed: disk full')
})

test('a token is needed, and the host of the console', async () => {
  const rule = tokenRule(
    'right',
    { user: 'ada', may: ['look'] },
    (host) => host === '127.0.0.1:4000',
  )
  const viewer = makeViewer({ rule })
  const status = async (token: string | undefined, host = '127.0.0.1:4000'): Promise<number> => {
    const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` }
    return (await viewer.send('/api/view', { headers: { host, ...authorization } })).status
  }
  expect(await status('right')).toBe(200)
  expect(await status('wrong')).toBe(401)
  expect(await status(undefined)).toBe(401)
  expect(await status('right', 'evil.example')).toBe(421)
  expect((await viewer.send('')).status).toBe(200)
})

test.each([
  ['no options', undefined],
  ['no authorize', { locks: makeViewer }],
  ['no locks', { locks: {}, authorize: () => false }],
  ['an unknown option', { authorise: 1 }],
  ['an origin with a path', { origin: 'https://a.example/x' }],
])('locksConsole with %s throws', (_, options) => {
  const bad = { ...options } as unknown as Parameters<typeof locksConsole>[0]
  expect(() => locksConsole(bad)).toThrow(expect.objectContaining({ code: 'LOCK_USAGE' }))
})
