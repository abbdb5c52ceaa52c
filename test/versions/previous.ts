/**
 * Builds the library as it was before: the last release, or a recorded commit until there is one.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
/** Until there is a release: a commit that has the stored formats of today. */
const BEFORE_RELEASES = '39a6f03701354edeefc46a5dc7fd366d98a1ee40'

export interface Previous {
  /** What it was built from. */
  readonly version: string
  /** A folder in which `holdfast` is the previous one, and all else is what the repository has. */
  readonly folder: string
  remove(): Promise<void>
}

export async function buildPrevious(): Promise<Previous> {
  const version = versionBefore()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-previous-'))
  const archive = join(folder, 'previous.tar')
  git('archive', '--output', archive, version, 'packages/holdfast', 'tsconfig.base.json')
  execFileSync('tar', ['-xf', archive, '-C', folder])
  await linkModules(folder)
  const build = (command: string, ...args: string[]): unknown =>
    execFileSync(command, args, { cwd: folder, stdio: 'pipe' })
  build(process.execPath, 'packages/holdfast/scripts/rules.mjs')
  // Its types were checked when it was written.
  build(join(ROOT, 'node_modules/.bin/tsc'), '-p', 'packages/holdfast', '--noCheck')
  return { version, folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

/**
 * The newest tag of a release, or the recorded commit. @throws Error in a clone without the
 * history.
 */
function versionBefore(): string {
  const version =
    git('tag', '--list', 'v*', '--sort=-version:refname').split('\n')[0] || BEFORE_RELEASES
  try {
    git('cat-file', '-e', `${version}^{commit}`)
    return version
  } catch (cause) {
    throw new Error(
      `This clone has no commit ${version}, beside which this version is tested. Get the history: git fetch --unshallow --tags`,
      { cause },
    )
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** The repository's packages, except for the library. */
async function linkModules(folder: string): Promise<void> {
  const [from, to] = [join(ROOT, 'node_modules'), join(folder, 'node_modules')]
  await mkdir(to)
  for (const name of await readdir(from)) {
    const target = name === 'holdfast' ? join(folder, 'packages/holdfast') : join(from, name)
    await symlink(target, join(to, name))
  }
}
