/**
 * Finds the sentences in the comments of a source file.
 *
 * A real parser finds the comments of TypeScript and JavaScript, so that a string, a template or a
 * regular expression never counts as one. Lua and SQL need only their strings skipped. The bodies
 * of SQL functions are read like the rest: their dollar quotes are no strings here.
 */
import { parsers } from 'prettier/plugins/babel'

const SCRIPT = /\.(ts|tsx|mts|cts|mjs|cjs|js)$/
const STRINGS_AND_COMMENTS = {
  lua: /"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|(?:--)?\[(=*)\[[^]*?\]\1\]|--[^\n]*/g,
  sql: /'(?:''|[^'])*'|"[^"]*"|`[^`]*`|\/\*[^]*?\*\/|--[^\n]*/g,
}
const ITEM = /^([-*•]|\d+[.)])\s+/
const TAG_WITH_CODE = /^@(example|see|link|typedef|type)\b/
const TAG_WITH_NAME = /^@(param|throws|property)\s+(\{[^}]*\}\s+)?\S+\s*/
const TAG = /^@\w+\s*/
/** Comments to tools, whose words have another grammar. */
const TO_A_TOOL = /^(oxlint-|eslint-|@ts-|v8 ignore|prettier-ignore|#(end)?region|\/ <|!)/
const ABBREVIATION = /(^|[\s(])(e\.g|i\.e|cf|vs|resp|no|approx)\.$/i

/** Returns each sentence of the comments of `text` with the line on which it starts. */
export function commentSentences(file, text) {
  return blocksOf(commentsOf(file, text), text).flatMap(paragraphsOf).flatMap(sentencesOf)
}

/** Returns how many words a sentence has. A code span, a path or a link is one word. */
export function countWords(sentence) {
  const spans = sentence.replace(/\{@link[^}]*\}|``[^`]+``|`[^`]*`/g, ' code ')
  return spans.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

/** Returns the comments of a file in order: where each starts, and its text with its marks. */
function commentsOf(file, text) {
  if (SCRIPT.test(file)) {
    const parser = /\.(ts|tsx|mts|cts)$/.test(file) ? 'babel-ts' : 'babel'
    const { comments } = parsers[parser].parse(text, { filepath: file })
    return comments.map((comment) => ({
      start: comment.start ?? comment.range[0],
      end: comment.end ?? comment.range[1],
    }))
  }
  const pattern = STRINGS_AND_COMMENTS[file.split('.').at(-1)]
  if (!pattern) return []
  return [...text.matchAll(pattern)]
    .filter(([found]) => /^(--|\/\*)/.test(found))
    .map((found) => ({ start: found.index, end: found.index + found[0].length }))
}

/** Joins comments of one line each that stand below each other, and removes the marks. */
function blocksOf(comments, text) {
  const blocks = []
  let last
  for (const { start, end } of comments) {
    const lineStart = text.lastIndexOf('\n', start - 1) + 1
    const alone = text.slice(lineStart, start).trim() === ''
    const line = text.slice(0, start).split('\n').length
    const column = start - lineStart
    const lines = text.slice(start, end).split('\n').map(withoutMark)
    const oneLine = lines.length === 1 && !text.startsWith('/*', start)
    if (alone && oneLine && last?.column === column && last.next === line) {
      last.lines.push(...lines)
    } else {
      last = { line, column, lines, next: undefined }
      blocks.push(last)
    }
    last.next = alone && oneLine ? line + 1 : undefined
  }
  return blocks
}

function withoutMark(line) {
  return line
    .replace(/^\s*(\/\*\*?|\*(?!\/)|\/\/|--\[=*\[|--)/, '')
    .replace(/(\*+\/|\]=*\])\s*$/, '')
    .replace(/^ /, '')
    .trimEnd()
}

/** Splits a block at blank lines, items of lists and tags. Code and tables fall out. */
function paragraphsOf({ line, lines }) {
  const paragraphs = []
  let current
  let fenced = false
  let inCodeTag = false
  lines.forEach((raw, index) => {
    const content = raw.trim()
    const fence = /^(```|~~~)/.test(content)
    if (fence) fenced = !fenced
    if (content.startsWith('@')) inCodeTag = TAG_WITH_CODE.test(content)
    if (fence || fenced || inCodeTag || content === '' || isCode(raw, current)) {
      current = undefined
      return
    }
    const item = ITEM.exec(content)
    const start = item ?? TAG_WITH_NAME.exec(content) ?? TAG.exec(content)
    if (!current || start) {
      current = { isItem: item !== null, lines: [] }
      paragraphs.push(current)
    }
    current.lines.push({ line: line + index, text: content.slice(start?.[0].length ?? 0) })
  })
  return paragraphs
}

/** Returns whether a line is of a table, a drawing or code, or is a comment to a tool. */
function isCode(raw, paragraph) {
  const content = raw.trim()
  if (content.startsWith('|') || TO_A_TOOL.test(content)) return true
  if (/[│┌└├─╭╰]|-->/.test(content)) return true
  // The columns of a table without lines.
  if (/[^\s.!?:;,] {2,}\S/.test(content)) return true
  return /^ {4}/.test(raw) && !paragraph?.isItem
}

/** Splits a paragraph into sentences, each with the line of its first word. */
function sentencesOf({ lines }) {
  const sentences = []
  let current
  for (const { line, text } of lines) {
    for (const word of text.split(/\s+/).filter(Boolean)) {
      current ??= { line, words: [] }
      current.words.push(word)
      if (!isComplete(current.words.join(' '))) continue
      sentences.push(current)
      current = undefined
    }
  }
  if (current) sentences.push(current)
  return sentences.map(({ line, words }) => ({ line, text: words.join(' ') }))
}

/** Returns whether the text ends with its sentence. A full stop within a code span ends none. */
function isComplete(text) {
  if (!/[.!?]["'”’)\]*_]*$/.test(text) || ABBREVIATION.test(text)) return false
  return (text.match(/`/g)?.length ?? 0) % 2 === 0
}
