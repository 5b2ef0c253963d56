/** Commands that run shell text from their arguments or their input. Pure. */
import { SHELLS } from './wrappers.ts'
import { nameOf } from './shapes.ts'

/** Options of `ssh` with a separate value. */
const SSH_VALUE_OPTIONS = /^-[bcDEeFIiJLlmOopQRSWw]$/
/** Commands that run their standard input when no command was found in their arguments. */
const INPUT_RUNNERS = /^(?:sudo|doas|su|chroot|nsenter|unshare|at|batch|ssh)$/

/** The texts that a shell runs, in order. `input`: the standard input. */
export function shellTexts(name: string, args: readonly string[], input: string): string[] {
  switch (name) {
    case 'eval':
      return [args.join(' ')]
    case 'trap':
      return args.slice(0, 1)
    case 'ssh': {
      const command = afterHost(args)
      return [command === '' ? input : command]
    }
    case 'watch':
      return [args.filter((arg) => !/^-|^\d/.test(arg)).join(' ')]
    case 'su':
    case 'script': {
      const option = args.findIndex((arg) => /^(?:-[a-z]*c|--command)$/.test(arg))
      return [option === -1 ? input : (args[option + 1] ?? '')]
    }
    default: {
      if (INPUT_RUNNERS.test(name)) return [input]
      // Any other command may start a shell with a text, such as a container runtime or a terminal multiplexer.
      const shell = args.findIndex((arg, at) => SHELLS.has(nameOf(arg)) && /^-[a-zA-Z]*c$/.test(args[at + 1] ?? ''))
      return shell === -1 ? [] : args.slice(shell + 2, shell + 3)
    }
  }
}

function afterHost(args: readonly string[]): string {
  let at = 0
  while (at < args.length && args[at]!.startsWith('-')) at += SSH_VALUE_OPTIONS.test(args[at]!) ? 2 : 1
  return args.slice(at + 1).join(' ')
}
