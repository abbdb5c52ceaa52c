/** `holdfast completion`: prints a completion script, made from the tables of options. */
import { printHelp } from '../args/help.js'
import { operandsOf } from '../args/name.js'
import { OUTPUT_OPTIONS } from '../args/common.js'
import { parseOptions } from '../args/options.js'
import { UsageError } from '../cli-error.js'
import {
  completionScript,
  SHELLS,
  type DescribedCommand,
  type Shell,
} from '../completion/scripts.js'
import { EXIT } from '../exit-codes.js'
import { stdout } from '../output/streams.js'
import type { Command, CommandEntry } from './command.js'

const OPTIONS = { help: OUTPUT_OPTIONS.help }

/** @param commands what the script completes */
export const completion = (commands: Readonly<Record<string, CommandEntry>>): Command => ({
  help: {
    usage: 'holdfast completion bash|zsh|fish',
    about: 'Prints the completion script of a shell: commands, options, and the command after --.',
    options: OPTIONS,
    notes: `
  bash:  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  zsh:   holdfast completion zsh > "\${fpath[1]}/_holdfast"
  fish:  holdfast completion fish > ~/.config/fish/completions/holdfast.fish`,
  },

  async main(argv) {
    const parsed = parseOptions(OPTIONS, argv)
    if (parsed.values.help === true) return printHelp(this.help)
    const [shell, extra] = operandsOf(parsed)
    if (!isShell(shell) || extra !== undefined)
      throw new UsageError(`Write: holdfast completion ${SHELLS.join('|')}`)
    stdout().write(completionScript(shell, described(commands)))
    return EXIT.ok
  },
})

function isShell(word: string | undefined): word is Shell {
  return SHELLS.some((shell) => shell === word)
}

function described(commands: Readonly<Record<string, CommandEntry>>): DescribedCommand[] {
  return Object.entries(commands).map(([name, { about, load }]) => ({
    name,
    about,
    options: load().help.options,
  }))
}
