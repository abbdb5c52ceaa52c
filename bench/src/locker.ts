/** What the workloads need of a lock, be it Holdfast's or a peer's. */

export type Release = () => Promise<unknown>
/** Something that takes one lock again and again. */
export type Locker = (name: string) => () => Promise<Release>
