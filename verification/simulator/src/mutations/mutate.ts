/**
 * Makes a runtime that is broken on purpose: a copy of the built package with a few lines replaced.
 *
 * The product code knows nothing of it. A text that is not found exactly as often as expected is an
 * error, so that a mutation cannot go stale unseen.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Helper, Recipe, Runtime } from '../runtime.js'
import type { Mutation } from './mutation.js'

const PACKAGE = dirname(fileURLToPath(import.meta.resolve('holdfast')))
/** The command line, which needs the library and is needed by none of it. */
const COMMAND_LINE = /\/dist\/(?:bin|cli)$/
/** What no process that runs the copy reads. */
const NOT_RUN = /\.d\.ts$|\.tsbuildinfo$/

export async function mutated(mutation: Pick<Mutation, 'name' | 'edits'>): Promise<Runtime> {
  const copy = mutatedCopy(mutation)
  removeAtExit(copy)
  const { createLocks, onLockEvent } = await load<Runtime>(join(copy, 'index.js'))
  const { memoryStore } = await load<Runtime>(join(copy, 'stores/memory/index.js'))
  const { redisStore } = await load<Runtime>(join(copy, 'stores/redis/index.js'))
  const { redlockStore } = await load<Runtime>(join(copy, 'stores/redlock/index.js'))
  const rule = await load<Runtime['rule']>(join(copy, 'store/grant-rule.js'))
  const recipe = await loadRecipe(copy)
  const helper = await loadHelper(copy)
  return { createLocks, onLockEvent, memoryStore, redisStore, redlockStore, recipe, helper, rule }
}

async function loadHelper(copy: string): Promise<Helper> {
  const { Client } = await load<Helper>(join(copy, 'lease/client.js'))
  const { locksOf } = await load<Helper>(join(copy, 'locks/create.js'))
  const sides = join(copy, 'lease/renew/helper')
  const { LateRenewals } = await load<Helper>(join(sides, 'late-renewals.js'))
  const { RenewalHelper } = await load<Helper>(join(sides, 'renewal-helper.js'))
  const { SharedBoard } = await load<Helper>(join(sides, 'shared-leases.js'))
  return { Client, locksOf, LateRenewals, RenewalHelper, SharedBoard }
}

async function loadRecipe(copy: string): Promise<Recipe> {
  const coordination = join(copy, 'stores/coordination')
  const { CoordinationStore } = await load<Recipe>(join(coordination, 'store.js'))
  const { QueueView } = await load<Recipe>(join(coordination, 'queue/queue-view.js'))
  const { mayGo, positionOf } = await load<Recipe>(join(coordination, 'queue/queue-rule.js'))
  const { ClaimsInDoubt } = await load<Recipe>(join(copy, 'in-doubt/claims-in-doubt.js'))
  return { CoordinationStore, QueueView, mayGo, positionOf, ClaimsInDoubt }
}

const loaded: string[] = []

/** Keeps the folder until then: the library imports some files with the first call for them. */
function removeAtExit(folder: string): void {
  if (loaded.push(folder) > 1) return
  process.once('exit', () => {
    for (const copy of loaded) rmSync(copy, { recursive: true, force: true })
  })
}

/**
 * Makes the copy and returns its folder. The caller removes it.
 * @param source the folder that is copied
 * @param isCopied whether a file of it is needed
 */
export function mutatedCopy(
  mutation: Pick<Mutation, 'name' | 'edits'>,
  source = PACKAGE,
  isCopied: (path: string) => boolean = (path) => !COMMAND_LINE.test(path),
): string {
  const edited = mutatedFiles(mutation, source)
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-mutation-'))
  try {
    cpSync(source, copy, {
      recursive: true,
      filter: (path) => !NOT_RUN.test(path) && isCopied(path),
    })
    // Outside of its package the copy has to say itself that it is CommonJS.
    writeFileSync(join(copy, 'package.json'), '{ "type": "commonjs" }\n')
    for (const [file, text] of edited) writeFileSync(join(copy, file), text)
    return copy
  } catch (error) {
    rmSync(copy, { recursive: true, force: true })
    throw error
  }
}

/**
 * Returns the texts of the files that a mutation changes, by their names in `source`.
 * @throws Error when an edit does not fit the code
 */
export function mutatedFiles(
  { name, edits }: Pick<Mutation, 'name' | 'edits'>,
  source = PACKAGE,
): ReadonlyMap<string, string> {
  const edited = new Map<string, string>()
  for (const { file, find, replace, times = 1 } of edits) {
    const parts = (edited.get(file) ?? readFileSync(join(source, file), 'utf8')).split(find)
    if (parts.length !== times + 1) {
      throw new Error(
        `The mutation ${name} expects ${times} times in ${join(source, file)} what is there ${parts.length - 1} times: ${find}`,
      )
    }
    edited.set(file, parts.join(replace))
  }
  return edited
}

async function load<Module>(file: string): Promise<Module> {
  return (await import(pathToFileURL(file).href)) as Module
}
