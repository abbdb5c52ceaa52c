// Makes dist/holdfast.1, the man page, from the help of all commands and from the table of exit
// codes in docs/command-line.md. `mandoc -T lint` finds nothing in it.
import { readFileSync, writeFileSync } from 'node:fs'
import { COMMANDS } from '../dist/cli/commands/index.js'

const DATE = 'November 24, 2026'
const ENVIRONMENT = [
  ['HOLDFAST_STORE', 'The URL of the store, for a command without --store.'],
  ['HOLDFAST_MODULES', 'The folder of client libraries, for a command without --modules.'],
  ['HOLDFAST_CONFIG', 'Another file than /etc/holdfast.json; empty for none.'],
  ['HOLDFAST_REDIS_PASSWORD', 'The password of a Redis server, for a URL without one.'],
  ['HOLDFAST_REDIS_PASSWORD_FILE', 'A file with that password.'],
  ['NO_COLOR', 'Without colours, if it is not empty.'],
  ['FORCE_COLOR', 'With colours, also in a pipe; 0 turns them off.'],
]

const page = new URL('../../../docs/command-line.md', import.meta.url)
const codes = readFileSync(page, 'utf8').matchAll(/^\| (\d+) +\| `([A-Z_]+)` +\| (.*?) +\|$/gm)

const commands = Object.entries(COMMANDS).map(([name, { about, load }]) => ({
  name,
  about,
  help: load().help,
}))

writeFileSync(
  new URL('../dist/holdfast.1', import.meta.url),
  [
    `.Dd ${DATE}`,
    '.Dt HOLDFAST 1',
    '.Os',
    '.Sh NAME',
    '.Nm holdfast',
    '.Nd run commands under locks that hold across processes and machines',
    '.Sh SYNOPSIS',
    '.Nm',
    '.Ar command',
    '.Op Ar options',
    '.Sh DESCRIPTION',
    '.Bl -tag -width completion',
    ...commands.flatMap(({ name, about }) => [`.It Cm ${name}`, ...prose(`${about}.`)]),
    '.El',
    '.Sh COMMANDS',
    ...commands.flatMap(({ name, help }) => [
      `.Ss holdfast ${name}`,
      ...literal(help.usage),
      '.Pp',
      ...paragraphs(help.about),
      '.Bl -tag -width indent',
      ...Object.entries(help.options).flatMap(([option, { short, value, help: text }]) => [
        `.It ${short === undefined ? '' : `Fl ${short} , `}Fl Fl ${option.replaceAll('-', '\\-')}${value === undefined ? '' : ` Ar ${value}`}`,
        ...prose(text),
      ]),
      '.El',
      ...(help.notes === undefined ? [] : paragraphs(help.notes, ['.Pp'])),
    ]),
    '.Sh ENVIRONMENT',
    '.Bl -tag -width indent',
    ...ENVIRONMENT.flatMap(([name, text]) => [`.It Ev ${name}`, ...prose(text)]),
    '.El',
    '.Sh EXIT STATUS',
    'The exit code of a command under',
    '.Cm run',
    'is passed on.',
    'Otherwise:',
    '.Bl -tag -width indent',
    ...[...codes].flatMap(([, exit, code, text]) => [
      `.It ${exit} Pq ${code}`,
      ...prose(`${text.replaceAll('`', '')}.`),
    ]),
    '.El',
  ].join('\n') + '\n',
)

/**
 * Blank lines separate paragraphs; lines that are indented stay as they are.
 * @param {string} text
 * @param {readonly string[]} before a first paragraph of prose
 */
function paragraphs(text, before = []) {
  return text
    .replace(/^\n+/, '')
    .trimEnd()
    .split(/\n\s*\n/)
    .flatMap((part, index) => [
      ...(/^ {2}/m.test(part)
        ? literal(part)
        : [...(index === 0 ? before : ['.Pp']), ...prose(part)]),
    ])
}

/** One sentence a line, as man pages are written. */
function prose(text) {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll('`', '')
    .split(/(?<=[.!?]\)?) (?=\S)/)
    .flatMap(wrapped)
    .map(escaped)
}

/** Lines of a source are at most 80 bytes long; escapes take some of them. */
function wrapped(sentence) {
  const lines = ['']
  for (const word of sentence.split(' ')) {
    const line = lines.at(-1)
    if (line !== '' && line.length + word.length > 68) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

function literal(text) {
  return ['.Bd -literal', ...text.split('\n').map(escaped), '.Ed']
}

/** In roff a backslash, a dash, and a dot or apostrophe at the start of a line have a meaning. */
function escaped(line) {
  return line
    .trimEnd()
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
    .replaceAll('…', '...')
}
