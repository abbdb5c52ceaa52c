/** Breaks minified code into lines, so that the position in a stack trace means something. */
import { parseAst } from 'rollup/parseAst'

const LONG = 80
const STARTS = /(Statement|Declaration|^MethodDefinition|^PropertyDefinition)$/

/** Breaks before statements and members of classes only: a line break changes no text. */
export function breakLines(code) {
  const starts = startsIn(parseAst(code)).sort((one, other) => one - other)
  let [result, from] = ['', 0]
  for (const start of starts) {
    const begun = Math.max(from, code.lastIndexOf('\n', start - 1) + 1)
    if (start - begun < LONG) continue
    result += `${code.slice(from, start)}\n`
    from = start
  }
  return result + code.slice(from)
}

/** Returns where statements and members of classes start. */
function startsIn(node) {
  if (typeof node !== 'object' || node === null) return []
  const inside = Object.values(node).flatMap(startsIn)
  return STARTS.test(node.type) ? [node.start, ...inside] : inside
}
