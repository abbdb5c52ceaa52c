/** An object store over HTTP that writes on conditions, as S3 does. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

/** Calls the sample of the page as the holders of a lock would. */
export async function tryObjectStore(fencedPut) {
  const server = createServer(objectStore()).listen(0)
  const url = `http://127.0.0.1:${server.address().port}/report`
  await fencedPut(url, 'first', leaseOf(7n))
  await fencedPut(url, 'second', leaseOf(8n))
  await assert.rejects(fencedPut(url, 'late', leaseOf(7n)), /a later holder has written/)
  const both = [fencedPut(url, 'third', leaseOf(9n)), fencedPut(url, 'other', leaseOf(9n))]
  const outcomes = await Promise.allSettled(both)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  server.close()
}

function leaseOf(token) {
  return { token, signal: new AbortController().signal }
}

function objectStore() {
  let version = 0
  let token
  return (request, response) => {
    const exists = version > 0
    const { 'if-match': ifMatch, 'if-none-match': ifNone } = request.headers
    if (exists) response.setHeader('etag', `"${version}"`)
    if (token !== undefined) response.setHeader('x-amz-meta-token', token)
    if (request.method === 'HEAD') return response.writeHead(exists ? 200 : 404).end()
    const isRefused = ifNone === '*' ? exists : ifMatch !== `"${version}"`
    if (isRefused) return response.writeHead(412).end()
    version++
    token = request.headers['x-amz-meta-token']
    return response.writeHead(200).end()
  }
}
