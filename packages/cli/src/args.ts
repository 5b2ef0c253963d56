/** Parsing of command lines: the flags of one command, its help text, and errors that name the remedy. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Io } from './io.ts'

/** A command line that cannot be used. The message names the fault; the caller adds the place of the help text. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

type Flag = {
  type: 'string' | 'boolean'
  about: string
  /** Placeholder of the value in the help text. */
  value?: string
  short?: string
  multiple?: boolean
}
export type Flags = Readonly<Record<string, Flag>>

/** Values of the given flags. */
export type Given<F extends Flags> = {
  [K in keyof F]?: F[K]['type'] extends 'boolean' ? boolean : F[K]['multiple'] extends true ? string[] : string
}

export type Command<F extends Flags = Flags> = {
  /** The command line after `parley`, such as `tail ID [flags]`. */
  usage: string
  about: string
  flags: F
  /** Minimum and maximum number of words besides flags. */
  words: readonly [number, number]
  /** Resolves to the exit code. */
  run(args: { flags: Given<F>; words: readonly string[] }, io: Io): Promise<number>
}

/** Declares a command and keeps the types of its flags. */
export const command = <const F extends Flags>(spec: Command<F>): Command<F> => spec

/** @throws UsageError for an unknown flag, a missing value, or too few or too many words. */
export function parse<F extends Flags>(
  spec: Command<F>,
  argv: readonly string[],
): { flags: Given<F>; words: string[]; help: boolean } {
  const options: NonNullable<ParseArgsConfig['options']> = { help: { type: 'boolean', short: 'h' } }
  for (const [name, { type, short, multiple }] of Object.entries(spec.flags)) {
    options[name] = { type, ...(short === undefined ? {} : { short }), ...(multiple === true ? { multiple } : {}) }
  }
  const { values, positionals } = read({ args: [...argv], options, allowPositionals: true })
  const { help, ...flags } = values
  if (help === true) return { flags: {}, words: [], help: true }
  const [least, most] = spec.words
  if (positionals.length < least) throw new UsageError(`something is missing: parley ${spec.usage}`)
  if (positionals.length > most)
    throw new UsageError(`"${positionals[most]}" is one word too many: parley ${spec.usage}`)
  return { flags: flags as Given<F>, words: positionals, help: false }
}

function read(config: ParseArgsConfig & { allowPositionals: true }): ReturnType<typeof parseArgs> {
  try {
    return parseArgs(config)
  } catch (error) {
    const code = (error as { code?: unknown }).code
    if (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS')) {
      // The first sentence names the flag; the rest explains `--`, which is rarely needed.
      throw new UsageError((error as Error).message.split('. ')[0]!.replace(/^Unknown option/, 'unknown flag'))
    }
    throw error
  }
}

/** Text of `parley <command> --help`. */
export function helpText(spec: Command): string {
  const rows = Object.entries(spec.flags).map(([name, flag]) => {
    const short = flag.short === undefined ? '    ' : `-${flag.short}, `
    return [`${short}--${name}${flag.type === 'string' ? ` ${flag.value ?? 'VALUE'}` : ''}`, flag.about] as const
  })
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const flags = rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`)
  return [`${spec.about}`, '', `usage: parley ${spec.usage}`, ...(flags.length > 0 ? ['', ...flags] : [])].join('\n')
}
