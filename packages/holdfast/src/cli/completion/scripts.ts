/** Completion scripts of shells, made from the commands and their tables of options. */
import { LAB_TOPICS } from '../args/lab-options.js'
import type { OptionTable } from '../args/options.js'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export interface DescribedCommand {
  readonly name: string
  readonly about: string
  readonly options: OptionTable
}

/** Commands that run another one after `--`. */
const RUNNERS = ['run', 'elect']
/** Values that a shell can complete. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'on-lost': ['term', 'kill', 'warn'],
}
/** Operands that a shell can complete. */
const OPERANDS: Readonly<Record<string, readonly string[]>> = {
  completion: SHELLS,
  lab: LAB_TOPICS,
}
const FILES = ['status-file', 'html', 'modules']

/** The words for an option: a value such as `one|several` lists them itself. */
function wordsOf(option: string, value: string | undefined): readonly string[] | undefined {
  return WORDS[option] ?? (value?.includes('|') === true ? value.split('|') : undefined)
}

/** All options with words, of all commands. */
function wordedOptions(commands: readonly DescribedCommand[]): Map<string, readonly string[]> {
  const options = commands.flatMap((command) => Object.entries(command.options))
  return new Map(
    options.flatMap(([option, { value }]) => {
      const words = wordsOf(option, value)
      return words === undefined ? [] : [[option, words] as const]
    }),
  )
}

export function completionScript(shell: Shell, commands: readonly DescribedCommand[]): string {
  return { bash, zsh, fish }[shell](commands)
}

function bash(commands: readonly DescribedCommand[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words='${flags(options).join(' ')}' ;;`,
  )
  const values = [...wordedOptions(commands)].map(
    ([option, words]) =>
      `    --${option}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current")); return ;;`,
  )
  const operands = Object.entries(OPERANDS).map(
    ([command, words]) =>
      `  [[ \${COMP_WORDS[1]} == ${command} && $current != -* ]] && words='${words.join(' ')}'`,
  )
  return `# Completion of holdfast for bash.
_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words='' i
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- && " ${RUNNERS.join(' ')} " == *" \${COMP_WORDS[1]} "* ]]; then
      if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current"))
      else COMPREPLY=($(compgen -f -- "$current")); fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} help' -- "$current"))
    return
  fi
  case "$previous" in
${values.join('\n')}
    ${FILES.map((name) => `--${name}`).join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    help) words='${commands.map(({ name }) => name).join(' ')}' ;;
  esac
${operands.join('\n')}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _holdfast holdfast
`
}

function zsh(commands: readonly DescribedCommand[]): string {
  const names = commands.map(({ name, about }) => `    '${name}:${quoted(about)}'`)
  const cases = commands.map(({ name, options }) => {
    const rows = Object.entries(options).map(([option, { help, short, value }]) => {
      const tail = `[${bracketed(help)}]${zshValue(option, value)}'`
      const long = `'--${option}${value === undefined ? '' : '='}${tail}`
      return short === undefined
        ? long
        : `${long} '-${short}${value === undefined ? '' : '+'}${tail}`
    })
    const operand = RUNNERS.includes(name)
      ? `'1:lock name:'`
      : OPERANDS[name] === undefined
        ? `'*:name:'`
        : `'1:word:(${OPERANDS[name].join(' ')})'`
    return `    ${name}) _arguments ${rows.join(' \\\n      ')} \\\n      ${operand} ;;`
  })
  return `#compdef holdfast
# Completion of holdfast for zsh.
_holdfast() {
  local -a subcommands
  subcommands=(
${names.join('\n')}
    'help:Show the help of a command'
  )
  if (( CURRENT == 2 )); then
    _describe command subcommands
    return
  fi
  local command=\${words[2]}
  shift words
  (( CURRENT-- ))
  local end=\${words[(i)--]}
  if [[ " ${RUNNERS.join(' ')} " == *" $command "* ]] && (( end < CURRENT )); then
    shift $end words
    (( CURRENT -= end ))
    _normal
    return
  fi
  case $command in
${cases.join('\n')}
    help) _describe command subcommands ;;
  esac
}
_holdfast "$@"
`
}

function zshValue(option: string, value: string | undefined): string {
  if (value === undefined) return ''
  const words = wordsOf(option, value)
  const name = value.replaceAll('|', ' or ')
  if (words !== undefined) return `:${name}:(${words.join(' ')})`
  return FILES.includes(option) ? `:${name}:_files` : `:${name}:`
}

function fish(commands: readonly DescribedCommand[]): string {
  const lines = commands.flatMap(({ name, about, options }) => [
    `complete -c holdfast -n __fish_use_subcommand -a ${name} -d '${quoted(about)}'`,
    ...Object.entries(options).map(([option, { short, value, help }]) => {
      const words = wordsOf(option, value)
      const form = [
        `-l ${option}`,
        ...(short === undefined ? [] : [`-s ${short}`]),
        ...(value === undefined ? [] : ['-r']),
        ...(words === undefined ? [] : [`-a '${words.join(' ')}'`]),
        ...(FILES.includes(option) ? ['-F'] : []),
      ].join(' ')
      return `complete -c holdfast -n '__fish_seen_subcommand_from ${name}' ${form} -d '${quoted(firstSentence(help))}'`
    }),
  ])
  const operands = Object.entries(OPERANDS).map(
    ([command, words]) =>
      `complete -c holdfast -n '__fish_seen_subcommand_from ${command}' -a '${words.join(' ')}'`,
  )
  return `# Completion of holdfast for fish.
complete -c holdfast -f
complete -c holdfast -n __fish_use_subcommand -a help -d 'Show the help of a command'
${lines.join('\n')}
${operands.join('\n')}
function __holdfast_after_dashes
  set -l words (commandline -opc)
  set -l at (contains -i -- -- $words)
  and contains -- $words[2] ${RUNNERS.join(' ')}
  and echo $at
end
function __holdfast_command
  set -l words (commandline -opc)
  set -l at (__holdfast_after_dashes)
  complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..]) (commandline -ct))
end
complete -c holdfast -n '__holdfast_after_dashes >/dev/null' -a '(__holdfast_command)'
`
}

function flags(options: OptionTable): string[] {
  return Object.entries(options).flatMap(([name, { short }]) =>
    short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`],
  )
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0] ?? text
}

/** For a string in single quotes. */
function quoted(text: string): string {
  return text.replaceAll('\\', '').replaceAll("'", '’')
}

/** For a description of zsh's _arguments, where brackets and colons have a meaning. */
function bracketed(text: string): string {
  return quoted(firstSentence(text)).replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ' -')
}
