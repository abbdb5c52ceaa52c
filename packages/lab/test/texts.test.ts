/** Everything that the lab plays has a text in each language. */
import {
  COSTS,
  EVERYDAY,
  HAVE,
  HEATS,
  MACHINES,
  SERVICES,
  fill,
  languageOf,
  LANGUAGES,
  STORES,
  STRATEGIES,
  textsOf,
} from '../dist/index.js'
import { describe, expect, test } from 'vitest'
import { LAB_OPTIONS } from 'holdfast/internal'
import { StoreUnavailableError } from 'holdfast'
import { inLanguage } from '../dist/command/errors.js'
import { languageFrom } from '../dist/command/options.js'
import { FAULTS } from '../dist/scenarios/ladder/faults.js'

function leaves(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leaves)
    : [value]
}

describe.each(LANGUAGES)('in %s', (language) => {
  const texts = textsOf(language)

  test('each strategy has a title and a lesson, and there are no other texts', () => {
    expect(Object.keys(texts.oversell.strategies).toSorted()).toEqual(
      STRATEGIES.map(({ id }) => id).toSorted(),
    )
  })

  test('every fault of the ladder, every scenario and every store has a text', () => {
    expect(Object.keys(texts.ladder.rungs).toSorted()).toEqual(
      FAULTS.map(({ id }) => id).toSorted(),
    )
    expect(Object.keys(texts.scenarios).toSorted()).toEqual(EVERYDAY.map(({ id }) => id).toSorted())
    expect(Object.keys(texts.choose.promises).toSorted()).toEqual(STORES.toSorted())
  })

  test('every fault marks the timeline with events that have a text', () => {
    const plays = FAULTS.map(({ play }) => String(play)).join('\n')
    const events = Array.from(
      plays.matchAll(/\.(?:mark|kill|stop|goOn)\('([^']+)'\)/g),
      ([, event]) => event,
    )
    expect([...new Set(events)].toSorted()).toEqual(Object.keys(texts.ladder.marks).toSorted())
  })

  test('no text is empty', () => {
    expect(leaves(texts).filter((leaf) => typeof leaf !== 'string' || leaf.trim() === '')).toEqual(
      [],
    )
  })
})

test('the help in Chinese describes every option, and no other', () => {
  expect(Object.keys(textsOf('zh').help?.options ?? {}).toSorted()).toEqual(
    Object.keys(LAB_OPTIONS).toSorted(),
  )
})

test('the options name every server, store and answer', () => {
  expect(LAB_OPTIONS.services.help).toContain(`: ${SERVICES.join(', ')}; or none`)
  expect(LAB_OPTIONS.have.help).toContain(`: ${HAVE.join(', ')}, nothing.`)
  const { machines, cost, heat, lang } = LAB_OPTIONS
  expect([machines, cost, heat, lang].map(({ value }) => value.split('|'))).toEqual([
    MACHINES,
    COSTS,
    HEATS,
    LANGUAGES,
  ])
})

/** GB/T 15834: the punctuation of Chinese text is full-width. Code stands in back-quotes. */
test('Chinese texts have no half-width punctuation', () => {
  const wrong = leaves(textsOf('zh'))
    .map((text) => String(text).replaceAll(/`[^`]*`/g, ''))
    .filter((text) => /\p{Script=Han}/u.test(text))
    .filter((text) => /[,:;!?()]|\.(?!\w)|\p{Script=Han}\./u.test(text))
  expect(wrong).toEqual([])
})

test.each([
  [{ LC_ALL: 'zh_CN.UTF-8', LANG: 'en_US.UTF-8' }, 'zh'],
  [{ LC_ALL: '', LANG: 'zh_TW' }, 'zh'],
  [{ LANG: 'de_DE.UTF-8' }, 'en'],
  [{}, 'en'],
])('the locale %j means %s', (env, language) => {
  expect(languageOf(env)).toBe(language)
})

test.each([
  ['zh', 'zh'],
  ['zh-CN', 'zh'],
  ['zh_TW.UTF-8', 'zh'],
  ['en-GB', 'en'],
])('--lang %s means %s', (lang, language) => {
  const none = Object.fromEntries(Object.keys(LAB_OPTIONS).map((name) => [name, undefined]))
  expect(languageFrom({ ...none, lang } as Parameters<typeof languageFrom>[0])).toBe(language)
})

test('an error of the library keeps its code, and is introduced in Chinese', () => {
  const error = inLanguage(new StoreUnavailableError('No answer.'), 'zh')
  expect(error).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: '演示没有完成，错误信息是：No answer.',
  })
})

test('values stand where their names were, and what is unknown stays', () => {
  expect(fill('{items} books, {nothing}', { items: 3 })).toBe('3 books, {nothing}')
})
