/** The programs on the pages of recipes are the files that the tests run. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf, ROOT } from './samples/blocks.js'

const PAGES = [
  {
    page: 'docs/integrations/recipes.md',
    folders: ['examples/http', 'examples/jobs'],
    // It stands for the work of the reader.
    leftOut: ['examples/http/pay.mjs'],
  },
  {
    page: 'docs/integrations/idempotency.md',
    folders: ['examples/idempotency'],
    leftOut: ['provider', 'server', 'services'].map((name) => `examples/idempotency/${name}.mjs`),
  },
]

/** Returns the blocks that name their file in the first line. */
function shownFiles(page: string): (readonly [file: string, code: string])[] {
  return blocksOf(page, ['js']).flatMap(({ code }) => {
    const name = /^\/\/ (examples\/\S+)\n/.exec(code)?.[1]
    return name === undefined ? [] : [[name, code] as const]
  })
}

test.each(PAGES.flatMap(({ page }) => shownFiles(page)))('a page shows %s', (name, code) => {
  const file = readFileSync(join(ROOT, name), 'utf8')
  expect(code).toBe(`// ${name}\n${file}`)
})

test.each(PAGES)('$page shows each file of its recipes', ({ page, folders, leftOut }) => {
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?js$/.test(name))
      .map((name) => `${folder}/${name}`),
  )
  const shown = shownFiles(page).map(([name]) => name)
  expect([...shown, ...leftOut].toSorted()).toEqual(files.toSorted())
})
