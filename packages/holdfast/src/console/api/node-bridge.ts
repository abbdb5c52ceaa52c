/** The console behind Node's own requests and answers, as Express and others have them. */

/** A request of `node:http`, as far as the console reads it. */
export interface NodeRequest {
  /** The method of HTTP. */
  readonly method?: string | undefined
  /** The path and the query, with or without the path of the mount. */
  readonly url?: string | undefined
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** An answer of `node:http`, as far as the console writes it. */
export interface NodeResponse {
  /** The status of HTTP. */
  statusCode: number
  /** Whether `authorize` has begun to answer. */
  readonly headersSent: boolean
  /** Whether `authorize` has answered. */
  readonly writableEnded: boolean
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): unknown
  /** Sends the answer. */
  end(body?: string): unknown
}

type Body = Exclude<RequestInit['body'], undefined>
type Fetch = (request: Request, context: unknown) => Promise<Response>

/** Answers a request. `authorize` gets the request of Node, and may answer it itself. */
export async function answerNode(fetch: Fetch, req: NodeRequest, res: NodeResponse): Promise<void> {
  const answer = await fetch(requestOf(req), req)
  // `authorize` has answered, with a redirect to a login say.
  if (res.headersSent || res.writableEnded) return
  res.statusCode = answer.status
  answer.headers.forEach((value, name) => res.setHeader(name, value))
  res.end(req.method === 'HEAD' ? undefined : await answer.text())
}

function requestOf(req: NodeRequest): Request {
  const { method = 'GET', url = '/' } = req
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // HTTP/2 has headers such as `:path`.
    if (value === undefined || name.startsWith(':')) continue
    headers.set(name, typeof value === 'string' ? value : value.join(', '))
  }
  const authority = req.headers[':authority']
  if (!headers.has('host') && typeof authority === 'string') headers.set('host', authority)
  const isRead = method === 'GET' || method === 'HEAD'
  // A host of a client's making must not decide about the path.
  const target = new URL('http://localhost')
  const [path = '/', query = ''] = url.split('?', 2)
  target.pathname = path
  target.search = query
  if (isRead) return new Request(target, { method, headers })
  return new Request(target, { method, headers, body: bodyOf(req), duplex: 'half' })
}

/** A parser before the console has read the body already. Then the stream is at its end. */
function bodyOf(req: NodeRequest): Body {
  const { body } = req as { readonly body?: unknown }
  if (body === undefined) return req as unknown as Body
  if (typeof body === 'string' || body instanceof Uint8Array) return body as Body
  return JSON.stringify(body)
}
