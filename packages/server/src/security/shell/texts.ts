/** Commands that take shell text among their words, or from their input. Pure. */
import { SHELLS } from './runners.ts'
import { nameOf } from './shapes.ts'

/** Options of `ssh` that take the next word. */
const SSH_TAKES = /^-[bcDEeFIiJLlmOopQRSWw]$/
/** What is left of them runs what comes to the input. */
const INPUT_RUNNERS = /^(?:sudo|doas|su|chroot|nsenter|unshare|at|batch|ssh)$/

/** The texts that a shell is given to run, in order; `input` is what comes to the standard input. */
export function textsRunBy(name: string, args: readonly string[], input: string): string[] {
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
      // A container, a terminal multiplexer or whatever else is told to start a shell with a text.
      const shell = args.findIndex((arg, at) => SHELLS.has(nameOf(arg)) && /^-[a-zA-Z]*c$/.test(args[at + 1] ?? ''))
      return shell === -1 ? [] : args.slice(shell + 2, shell + 3)
    }
  }
}

function afterHost(args: readonly string[]): string {
  let at = 0
  while (at < args.length && args[at]!.startsWith('-')) at += SSH_TAKES.test(args[at]!) ? 2 : 1
  return args.slice(at + 1).join(' ')
}
