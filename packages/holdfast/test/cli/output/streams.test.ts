/** Looking at where the output goes leaves nothing behind in Node. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'
import { Program } from '../support/program.js'

const STDOUT = new URL('../../../dist/cli/output/streams.js', import.meta.url).href

// Node keeps the result of its last `stat`, of any file. While that file was a pipe, `realpathSync`
// resolves no link below a folder that it knows.
it('a module that is a link is found where it is, also when the output goes to a pipe', async () => {
  const box = new Box()
  mkdirSync(box.file('node_modules'))
  mkdirSync(box.file('elsewhere'))
  for (const file of ['plain.js', 'elsewhere/index.js']) writeFileSync(box.file(file), '')
  symlinkSync(box.file('elsewhere'), box.file('node_modules/linked'))
  const script = `
    import { createRequire } from 'node:module'
    const here = createRequire(${JSON.stringify(join(box.folder, 'program.js'))})
    here.resolve('./plain.js')
    const { stdout } = await import(${JSON.stringify(STDOUT)})
    stdout()
    console.log(here.resolve('linked'))`
  const program = new Program(process.execPath, ['--input-type=module', '--eval', script])
  expect(await program.code()).toBe(0)
  expect(program.stdout.trim()).toBe(realpathSync(box.file('elsewhere/index.js')))
})
