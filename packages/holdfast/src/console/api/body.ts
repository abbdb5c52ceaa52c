/** The body of a POST. */
import { ApiFailure } from '../access/failure.js'

const MOST_BYTES = 16_384

/** @throws ApiFailure unless a script of the page itself may have sent it: no form can. */
export function checkPost({ headers }: Request): void {
  const type = headers.get('content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    throw new ApiFailure(415, 'NOT_JSON', 'The body must be JSON.')
  if (headers.get('x-holdfast-console') !== '1')
    throw new ApiFailure(403, 'NO_HEADER', 'The header x-holdfast-console is missing.')
}

/** @throws ApiFailure for a body that is too long, or no JSON. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request)
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new ApiFailure(400, 'NOT_JSON', 'The body is no JSON.')
  }
}

async function readText({ body }: Request): Promise<string> {
  if (body === null) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MOST_BYTES) throw new ApiFailure(413, 'TOO_LONG', 'The body is too long.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
