/** Reads the members of an interface from its source: name, type, and what the docstring says. */
import { readFileSync } from 'node:fs'

/** @typedef {{ name: string, type: string, isNeeded: boolean, text: string }} Member */

const MEMBER =
  /((?: {2}\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?) {2}readonly (\w+)(\??):((?:.|\n {4})*)\n/gy

/**
 * Returns the public members that an interface itself declares, in their order.
 * @param {string} file @param {string} name
 * @returns {Member[]}
 */
export function membersOf(file, name) {
  const source = readFileSync(file, 'utf8')
  const start = source.search(new RegExp(`^export interface ${name}\\b`, 'm'))
  if (start === -1) throw new Error(`${file} has no interface ${name}.`)
  const end = source.indexOf('\n}\n', start)
  const from = source.indexOf('{\n', start) + 2
  const body = source.slice(from, end + 1)
  const members = []
  MEMBER.lastIndex = 0
  while (MEMBER.lastIndex < body.length) {
    const at = MEMBER.lastIndex
    const found = MEMBER.exec(body)
    if (found === null)
      throw new Error(`${file}: ${name} has a member of a new form: ${body.slice(at)}`)
    const [, comment = '', member = '', optional, type = ''] = found
    members.push({
      name: member,
      type: type
        .replace(/ \| undefined$/, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
      isNeeded: optional === '',
      text: textOf(comment),
    })
  }
  return members.filter(({ text }) => !text.startsWith('@internal'))
}

/** @param {string} comment */
function textOf(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*(?:\/\*\*|\*\/|\*(?!\/))?/, ''))
  return lines
    .join(' ')
    .replace(/\*\/\s*$/, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
