/**
 * The stacks of typical mistakes lead through files that can be read. The first frame outside of
 * Holdfast and Node is the line of the caller. A program of its own makes the mistakes, since a
 * test runner raises the number of frames that a stack has.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

interface Mistake {
  readonly name: string
  readonly line: number
  readonly stack: string
}

interface Frame {
  readonly file: string
  readonly line: number
}

const PROGRAM = fileURLToPath(new URL('mistakes.mjs', import.meta.url))
const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
/** No line of a file that a reader looks up is longer. */
const LONGEST_LINE = 200

test.each(['plain', 'traced'])('stack of a typical mistake shows its caller: %s', async (how) => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, how])
  const mistakes = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Mistake)
  expect(mistakes.length).toBeGreaterThan(10)
  const callers = mistakes.map(({ name, stack }) => [name, placeOf(callerIn(stack))])
  expect(callers).toEqual(mistakes.map(({ name, line }) => [name, `${PROGRAM}:${line}`]))
  const unreadable = mistakes.flatMap(({ stack }) => framesOf(stack).filter(isUnreadable))
  expect(unreadable).toEqual([])
})

/** Returns the frames of a stack that are in files: those of Node are not. */
function framesOf(stack: string): Frame[] {
  return stack.split('\n').flatMap((text) => {
    const [, file, line] = /^ {4}at .*?(?:file:\/\/|\(| )(\/[^()]+):(\d+):\d+\)?$/.exec(text) ?? []
    return file === undefined ? [] : [{ file, line: Number(line) }]
  })
}

function callerIn(stack: string): Frame | undefined {
  return framesOf(stack).find(({ file }) => !file.startsWith(DIST))
}

function placeOf(frame: Frame | undefined): string {
  return frame ? `${frame.file}:${frame.line}` : 'no frame'
}

function isUnreadable({ file, line }: Frame): boolean {
  if (!file.startsWith(DIST)) return false
  const text = readFileSync(file, 'utf8').split('\n')[line - 1]
  return text === undefined || text.length > LONGEST_LINE
}
