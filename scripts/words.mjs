/**
 * Refuses the words that docs/internals/words.md replaces, prose wider than 100 columns, and
 * sentences of more than 25 words in the comments of source files.
 *
 * `npm run words` checks every tracked source file and page; `npm run words -- PATH…` checks a part.
 * The words and their exceptions are in words.json. An exception names a path, a pattern of the list
 * and a reason; an exception that no longer excuses anything is an error.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { commentSentences, countWords } from './comment-sentences.mjs'

const WIDTH = 100
const MOST_WORDS = 25
const CHECKED = /\.(ts|tsx|mts|cts|mjs|js|lua|sql|pml|sh|md)$/
const UNCHECKED =
  /(^|\/)(dist|results|node_modules)\/|\.generated\.|^scripts\/words\.|^LICENSE|^docs\/internals\/words\.md$/

const list = JSON.parse(readFileSync(new URL('words.json', import.meta.url), 'utf8'))
const refused = list.refused.map(({ pattern, write }) => ({
  pattern,
  write,
  regex: new RegExp(`(?<![\\w-])(?:${pattern})(?![\\w-])`, 'gi'),
}))
const exceptions = list.exceptions.map((exception) => ({
  ...exception,
  path: new RegExp(exception.path),
  used: false,
}))

const paths = process.argv.slice(2)
const files = execFileSync('git', ['ls-files', '-z', '--', ...paths], { encoding: 'utf8' })
  .split('\0')
  .filter((file) => CHECKED.test(file) && !UNCHECKED.test(file) && existsSync(file))

let findings = 0
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  checkWords(file, text)
  checkWidth(file, text)
  checkSentences(file, text)
}
if (paths.length === 0) {
  for (const { used, path, pattern } of exceptions) {
    if (!used) report('scripts/words.json', 1, `unused exception: ${path.source} for ${pattern}`)
  }
}
console.log(`${findings} findings in ${files.length} files`)
process.exitCode = findings === 0 ? 0 : 1

/** Reports each refused word. A word that a line break splits counts too. */
function checkWords(file, text) {
  text.split('\n').forEach((line, index, lines) => {
    const next = (lines[index + 1] ?? '').replace(/^\s*(?:\*|\/\/|--|>)?\s*/, '')
    const both = `${line.trimEnd()} ${next}`
    for (const { pattern, write, regex } of refused) {
      for (const match of both.matchAll(regex)) {
        if (match.index >= line.trimEnd().length) continue
        if (isExcepted(file, pattern, both)) continue
        report(file, index + 1, `"${match[0]}": ${write}`)
      }
    }
  })
}

function isExcepted(file, pattern, line) {
  const found = exceptions.find(
    (exception) =>
      exception.path.test(file) &&
      exception.pattern === pattern &&
      (exception.line === undefined || line.includes(exception.line)),
  )
  if (found) found.used = true
  return found !== undefined
}

/** Reports comments and Markdown prose wider than the limit. Tables, code and lone links may be. */
function checkWidth(file, text) {
  if (file.endsWith('.zh-CN.md') || file.startsWith('docs/zh/')) return
  const markdown = file.endsWith('.md')
  let fenced = false
  text.split('\n').forEach((line, index) => {
    if (markdown && /^\s*(```|~~~)/.test(line)) fenced = !fenced
    if (line.length <= WIDTH || fenced) return
    const prose = markdown
      ? !/^\s*(\||<|!?\[|- !?\[)/.test(line)
      : /^\s*(\/\/|\/?\*|--)/.test(line) && !/^\s*\*\s*\|/.test(line)
    if (!prose || !/\s\S+\s\S+\s/.test(line) || /https?:\/\/\S{60,}/.test(line)) return
    if (/oxlint-disable|@ts-|v8 ignore/.test(line)) return
    report(file, index + 1, `${line.length} columns: wrap at ${WIDTH}`)
  })
}

/** Reports sentences of comments that are too long. */
function checkSentences(file, text) {
  for (const sentence of commentSentences(file, text)) {
    const words = countWords(sentence.text)
    if (words <= MOST_WORDS) continue
    const beginning = sentence.text.split(' ').slice(0, 6).join(' ')
    report(file, sentence.line, `${words} words, at most ${MOST_WORDS}: "${beginning} …"`)
  }
}

function report(file, line, what) {
  findings++
  console.log(`${file}:${line}: ${what}`)
}
