/** Serves the built site on a loopback port, with addresses without `.html` as a host would. */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

export const DIST = join(import.meta.dirname, '../.vitepress/dist')

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** @returns {Promise<{ origin: string, close: () => void }>} */
export async function serveSite() {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise((resolve) => void server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function answer({ url = '/' }, response) {
  const path = normalize(decodeURIComponent(new URL(url, 'http://site').pathname))
  const file = path.endsWith('/') ? `${path}index.html` : path
  const found = (await contentOf(file)) ?? (await contentOf(`${file}.html`))
  const type = TYPES[extname(file)] ?? TYPES['.html']
  response.writeHead(found ? 200 : 404, { 'content-type': type }).end(found)
}

/** @param {string} file */
async function contentOf(file) {
  try {
    return await readFile(join(DIST, file))
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ENOTDIR'].includes(error.code)) return undefined
    throw error
  }
}
