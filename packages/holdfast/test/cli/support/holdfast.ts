/** The command line as users start it, each test with a store folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { embeddedStore } from 'holdfast/embedded'
import { afterEach, expect } from 'vitest'
import { lockJson } from '../../../dist/cli/output/json.js'
import { endPrograms, Program, type ProgramOptions } from './program.js'
import { endTerminals, Terminal } from './terminal.js'
import { eventually } from '@holdfast/servers/eventually'

/** The command as it is published. */
export const BIN = fileURLToPath(new URL('../../../bin/holdfast.cjs', import.meta.url))

const boxes = new Set<Box>()

afterEach(async () => {
  // A program that still runs may write to its store while the folder is removed.
  await endPrograms()
  await endTerminals()
  for (const box of boxes) rmSync(box.folder, { recursive: true, force: true })
  boxes.clear()
})

export interface Inspected {
  readonly name: string
  readonly kind: string
  readonly holders: readonly {
    claimId: string
    pid: number
    label: string
    token: string
    processGroup: number | null
  }[]
  readonly waiters: readonly { claimId: string; pid: number }[]
}

/** A folder with a store in it, and the programs that use it. */
export class Box {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  readonly env = {
    HOLDFAST_STORE: `embedded:${join(this.folder, 'store')}`,
    // What this test itself may run under.
    HOLDFAST_HELD: undefined,
    HOLDFAST_OWNER: undefined,
    HOLDFAST_LOCK_NAME: undefined,
    // What this machine may be set up with.
    HOLDFAST_CONFIG: '',
    HOLDFAST_MODULES: undefined,
  }

  constructor() {
    boxes.add(this)
  }

  file(name: string): string {
    return join(this.folder, name)
  }

  holdfast(args: readonly string[], options: ProgramOptions = {}): Program {
    return new Program(process.execPath, [BIN, ...args], {
      ...options,
      env: { ...this.env, ...options.env },
    })
  }

  inTerminal(args: readonly string[], columns?: number): Terminal {
    return new Terminal(process.execPath, [BIN, ...args], this.env, columns)
  }

  /** Runs a command to its end and reads its one object of JSON. */
  async json<T>(args: readonly string[]): Promise<T> {
    const program = this.holdfast([...args, '--json'])
    expect(await program.code()).toBe(0)
    return JSON.parse(program.stdout) as T
  }

  /** Returns what `holdfast inspect` shows, without the start of a process. */
  async inspect(name: string): Promise<Inspected | null> {
    const store = embeddedStore({ directory: this.file('store') })
    try {
      const [info] = await store.inspect([name])
      return info === undefined ? null : (lockJson(info, Date.now()) as Inspected)
    } finally {
      await store.close()
    }
  }

  /** Starts a run that holds the lock until its stdin ends. */
  async holder(
    name: string,
    options: readonly string[] = [],
    script = 'echo held; read -r _',
  ): Promise<Program> {
    const program = this.holdfast(['run', name, ...options, '--', 'sh', '-c', script])
    await program.prints('held')
    return program
  }

  async waiters(name: string, count: number): Promise<void> {
    await eventually(
      `${count} wait for ${name}`,
      async () => (await this.inspect(name))?.waiters.length === count,
    )
  }
}
