/** The process's side: runs the parts that the conductor asks for, one at a time. */
import type { Order, Part, Report, Stage } from './protocol.js'

function report(message: Report): void {
  process.send?.(message)
}

export function serve(parts: Readonly<Record<string, Part>>): void {
  const meetings = new Map<number, () => void>()
  let met = 0
  const stage: Stage = {
    meet: (point, detail) =>
      new Promise((resolve) => {
        met += 1
        meetings.set(met, resolve)
        report({ say: 'meet', meeting: met, point, detail })
      }),
    note: (note) => report({ say: 'note', note }),
  }

  async function run(name: string, settings: unknown): Promise<void> {
    const part = parts[name]
    try {
      if (!part) throw new Error(`There is no part "${name}".`)
      report({ say: 'done', result: await part(settings as never, stage) })
    } catch (error) {
      const { code } = error as { readonly code?: string }
      const message = error instanceof Error ? error.message : String(error)
      report({ say: 'failed', message, code })
    }
  }

  process.on('message', (order: Order) => {
    if (order.say === 'end') process.exit(0)
    if (order.say === 'run') void run(order.part, order.settings)
    if (order.say === 'go') {
      meetings.get(order.meeting)?.()
      meetings.delete(order.meeting)
    }
  })
  // The conductor is gone, so no process would ever end this one.
  process.on('disconnect', () => process.exit(0))
  // The terminal sends Ctrl-C to all; the conductor ends its processes itself.
  process.on('SIGINT', () => {})
  report({ say: 'ready' })
}
