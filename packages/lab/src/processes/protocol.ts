/**
 * What a process of the lab and the conductor say to each other, over the channel of
 * `child_process.fork`.
 */

/** From the conductor. */
export type Order =
  | { readonly say: 'run'; readonly part: string; readonly settings: unknown }
  /** The process that came to this meeting may continue. */
  | { readonly say: 'go'; readonly meeting: number }
  | { readonly say: 'end' }

/** From a process. */
export type Report =
  /** Its code is loaded. */
  | { readonly say: 'ready' }
  /** It has come to a point where the conductor decides when it continues. */
  | {
      readonly say: 'meet'
      readonly meeting: number
      readonly point: string
      readonly detail: unknown
    }
  /** Something that the conductor counts, draws or shows. */
  | { readonly say: 'note'; readonly note: unknown }
  | { readonly say: 'done'; readonly result: unknown }
  | { readonly say: 'failed'; readonly message: string; readonly code: string | undefined }

/** What a part of a scenario, running in a process, may ask of the conductor. */
export interface Stage {
  /**
   * Stops here until the conductor lets it go on. It may also stop or kill this process meanwhile.
   */
  readonly meet: (point: string, detail?: unknown) => Promise<void>
  readonly note: (note: unknown) => void
}

/** What a process does in a scenario. Its settings and its result are plain data. */
export type Part = (settings: never, stage: Stage) => Promise<unknown>
