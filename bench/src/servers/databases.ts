/**
 * PostgreSQL and MariaDB of the benchmark's own, with the settings that they come with: what is committed is on the disk.
 * Both refuse to run as root, so that they run as the users of Debian's packages then.
 */
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, running, type Server } from '../servers.js'

const VERSIONS = '/usr/lib/postgresql'

export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const [latest = ''] = readdirSync(VERSIONS).toSorted((one, other) => Number(other) - Number(one))
  const bin = join(VERSIONS, latest, 'bin')
  const { folder, user } = folderOf('postgres')
  const data = join(folder, 'data')
  const port = await freePort()
  const made = ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '-E', 'UTF8']
  execFileSync(join(bin, 'initdb'), made, { ...user, cwd: folder, stdio: 'pipe' })
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: folder, ...settings }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-p', String(port), ...flags]
  const child = spawn(join(bin, 'postgres'), args, { ...user, stdio: 'ignore' })
  const address = `postgres://postgres@127.0.0.1:${port}/postgres`
  // It ends at once, with all its processes, and without a word to the clients.
  return running(child, port, address, folder, 'SIGQUIT')
}

export async function startMariadb(): Promise<Server> {
  const { folder, user } = folderOf('mysql')
  const data = join(folder, 'data')
  const port = await freePort()
  const made = [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]
  execFileSync('mariadb-install-db', made, { ...user, cwd: folder, stdio: 'pipe' })
  const socket = join(folder, 's.sock')
  const flags = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${socket}`, '--max-connections=300']
  const args = ['--no-defaults', `--datadir=${data}`, `--pid-file=${join(folder, 'pid')}`, ...flags]
  const child = spawn('mariadbd', args, { ...user, stdio: 'ignore' })
  const server = await running(child, port, `mysql://root@127.0.0.1:${port}/bench`, folder)
  execFileSync('mariadb', ['--no-defaults', '-S', socket, '-u', 'root', '-e', 'create database bench'])
  return server
}

function folderOf(name: string): { folder: string; user: { uid: number; gid: number } | undefined } {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-bench-${name}-`))
  if (process.getuid?.() !== 0) return { folder, user: undefined }
  const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  const user = { uid: id('-u'), gid: id('-g') }
  chownSync(folder, user.uid, user.gid)
  return { folder, user }
}
