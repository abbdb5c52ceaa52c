/**
 * Pictures that narrow screens show: an SVG is never so small that its text is unreadable. Its box
 * scrolls sideways instead, as those of tables do.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** How large the smallest text of a picture is at least, in pixels. */
export const SMALLEST_TEXT = 10

/**
 * A plugin of markdown-it.
 * @param {import('markdown-it')} markdown
 * @param {string} folder the pages
 */
export function scrollingPictures(markdown, folder) {
  const plain = markdown.renderer.rules.image
  markdown.renderer.rules.image = (tokens, at, options, env, self) => {
    const token = tokens[at]
    const src = token.attrGet('src') ?? ''
    if (!/^[./\w-]+\.svg$/.test(src)) return plain(tokens, at, options, env, self)
    const { width, height, text } = measure(
      readFileSync(join(folder, dirname(env.relativePath), src), 'utf8'),
    )
    token.attrSet('width', `${width}`)
    token.attrSet('height', `${height}`)
    token.attrSet('style', `min-width:${Math.ceil((width * SMALLEST_TEXT) / text)}px`)
    const image = plain(tokens, at, options, env, self)
    return `<span class="scroll"><span class="scroll-box">${image}</span></span>`
  }
}

/**
 * Returns the size of a picture, and that of its smallest text.
 * @param {string} svg
 */
export function measure(svg) {
  const [, width = '0', height = '0'] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []
  const sizes = Array.from(svg.matchAll(/font-size="(\d+)/g), ([, size]) => Number(size))
  return { width: Number(width), height: Number(height), text: Math.min(...sizes) }
}
