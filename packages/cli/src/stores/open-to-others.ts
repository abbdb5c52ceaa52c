/** Finds out whether another user could have put code into a folder. */
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { userInfo } from 'node:os'

/**
 * Returns the first path, from this one up to the root, to which another user than the caller and
 * root may write; undefined when there is none. A sticky folder such as /tmp counts: Node would
 * find packages there that the others lack.
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
