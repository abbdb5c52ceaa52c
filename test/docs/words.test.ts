/** The check of `npm run words` finds the sentences in comments, and only these. */
import { describe, expect, test } from 'vitest'
import { commentSentences, countWords } from '../../scripts/comment-sentences.mjs'

function sentences(file: string, text: string): string[] {
  return commentSentences(file, text).map(({ line, text: found }) => `${line}: ${found}`)
}

describe('sentences of TypeScript', () => {
  test('joins the lines of a docstring, and starts again at a blank one', () => {
    const text = '/**\n * A first\n * one. A second\n *\n * and a third\n */\nconst x = 1\n'
    expect(sentences('a.ts', text)).toEqual(['2: A first one.', '3: A second', '5: and a third'])
  })

  test('joins one-line comments below each other, and keeps a trailing one apart', () => {
    const text = 'a() // alone\n// goes\n// together\nb()\n// later\n  // other column\n'
    expect(sentences('a.ts', text)).toEqual([
      '1: alone',
      '2: goes together',
      '5: later',
      '6: other column',
    ])
  })

  test('reads no strings, templates and regular expressions', () => {
    const text =
      "const a = 'https://x.y // no'\nconst b = `/* no */ ${c /* yes */} // no`\nconst d = /[/*]+/ // d\n"
    expect(sentences('a.ts', text)).toEqual(['2: yes', '3: d'])
  })

  test('leaves out code, tables, examples and comments to tools', () => {
    const text = `/**
 * Before.
 * | a | b |
 * \`\`\`ts
 * const fenced = 1
 * \`\`\`
 *     indented()
 *   one    a column
 * @example
 * call()
 * @returns the rest.
 */
// prettier-ignore
const x = 1
`
    expect(sentences('a.ts', text)).toEqual(['2: Before.', '11: the rest.'])
  })

  test('items of a list and tags are sentences of their own', () => {
    const text =
      '/**\n * Two\n * - one\n *   item\n * - another\n * @param name its\n * name\n * @throws TypeError always\n */\nlet x\n'
    expect(sentences('a.ts', text)).toEqual([
      '2: Two',
      '3: one item',
      '5: another',
      '6: its name',
      '8: always',
    ])
  })

  test('a full stop in a code span, a version or an abbreviation ends no sentence', () => {
    const text = '// With `a. b` of 3.5.2, e.g. this one. etcd follows.\nlet x\n'
    expect(sentences('a.ts', text)).toEqual([
      '1: With `a. b` of 3.5.2, e.g. this one.',
      '1: etcd follows.',
    ])
  })
})

test('sentences of Lua, outside of its strings', () => {
  const text = "local a = '-- no'\n-- One\n-- two.\nlocal b = [[\n-- no\n]] --[[ block\ntext ]]\n"
  expect(sentences('a.lua', text)).toEqual(['2: One two.', '6: block text'])
})

test('sentences of SQL, in the bodies of functions too', () => {
  const text =
    "select '-- no', 1; -- one\ncreate function f() as $f$\n  -- two\n  /* three */\n$f$;\n"
  expect(sentences('a.sql', text)).toEqual(['1: one', '3: two', '4: three'])
})

test('a code span, a link and a path count as one word', () => {
  expect(countWords('Calls `f(a, b)` of {@link Some thing} in a/b c.ts — twice.')).toBe(8)
})
