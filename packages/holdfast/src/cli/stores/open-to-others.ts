/** Finds out whether another user could have put code into a folder. */
import { lstatSync, readFileSync, readlinkSync, statSync, type Stats } from 'node:fs'
import { dirname, isAbsolute, join, parse, sep } from 'node:path'
import { userInfo } from 'node:os'

/**
 * Returns the first path, from this one up to the root, to which a user other than the caller and
 * root may write. It returns undefined when there is none. A sticky folder such as /tmp counts:
 * Node would find packages there that the others lack.
 */
export function openToOthers(path: string): string | undefined {
  const uid = process.geteuid?.()
  // Windows has no such modes.
  if (uid === undefined) return undefined
  for (let at = path; ; at = dirname(at)) {
    const found = statSync(at)
    const isOwned = found.uid === uid || found.uid === 0
    const isOpen = (found.mode & 0o002) !== 0
    const isOpenToGroup = (found.mode & 0o020) !== 0 && !isOwnGroup(found.gid)
    if (!isOwned || isOpen || isOpenToGroup) return at
    if (dirname(at) === at) return undefined
  }
}

export interface Step {
  /** Neither it nor a folder above it is a link. */
  readonly folder: string
  readonly entry: string
  readonly stat: Stats
}

/** More links than Linux follows. */
const MOST_LINKS = 40

/**
 * Yields each entry that the system passes on its way to a path, links included. Another user who
 * may write to the folder of a link can point it elsewhere, after its target was checked.
 */
export function* stepsTo(path: string): Generator<Step> {
  const { root } = parse(path)
  let folder = root
  const left = path.slice(root.length).split(sep)
  for (let links = 0; left.length > 0;) {
    const name = left.shift() ?? ''
    const entry = name === '..' ? dirname(folder) : join(folder, name)
    if (name === '' || name === '.' || name === '..') {
      folder = entry
      continue
    }
    const stat = lstatSync(entry)
    yield { folder, entry, stat }
    if (!stat.isSymbolicLink()) {
      folder = entry
      continue
    }
    links += 1
    if (links > MOST_LINKS) throw new Error(`${path} leads over too many links.`)
    const target = readlinkSync(entry)
    if (isAbsolute(target)) folder = root
    left.unshift(...target.split(sep))
  }
}

/** Whether the group of a folder has no other member than the caller and root. */
function isOwnGroup(gid: number): boolean {
  if (gid !== process.getegid?.()) return false
  const members = [
    ...entries('/etc/passwd').flatMap(([name, , , group]) => (group === String(gid) ? [name] : [])),
    ...entries('/etc/group').flatMap(([, , id, names]) =>
      id === String(gid) ? (names ?? '').split(',') : [],
    ),
  ]
  const own = ['', 'root', userName()]
  return members.every((name) => name !== undefined && own.includes(name))
}

/** The lines of a list of users or groups. A system without such a file knows no other user. */
function entries(file: string): string[][] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
  } catch {
    return []
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A user who is only a number. No list names it.
    return ''
  }
}
