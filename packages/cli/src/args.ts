/** Command lines: flags of one command, its help text, and refusals that name the way out. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import type { Io } from './io.ts'

/** What a person typed cannot be used. The message says what is wrong; the caller adds where help is. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

export type Flag = {
  type: 'string' | 'boolean'
  about: string
  /** Stands for the value in the help text. */
  value?: string
  short?: string
  multiple?: boolean
}
export type Flags = Readonly<Record<string, Flag>>

/** Values of the flags that were given. */
export type Given<F extends Flags> = {
  [K in keyof F]?: F[K]['type'] extends 'boolean' ? boolean : F[K]['multiple'] extends true ? string[] : string
}

export type Command<F extends Flags = Flags> = {
  /** What follows `parley`, such as `tail ID [flags]`. */
  usage: string
  about: string
  flags: F
  /** Least and most words besides flags. */
  words: readonly [number, number]
  /** Resolves to the exit code. */
  run(args: { flags: Given<F>; words: readonly string[] }, io: Io): Promise<number>
}

/** Keeps the flags' types of a command. */
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
      // The first sentence names the flag; the rest explains a trick with `--` that few need.
      throw new UsageError((error as Error).message.split('. ')[0]!.replace(/^Unknown option/, 'unknown flag'))
    }
    throw error
  }
}

/** What `parley <command> --help` prints. */
export function helpText(spec: Command): string {
  const rows = Object.entries(spec.flags).map(([name, flag]) => {
    const short = flag.short === undefined ? '    ' : `-${flag.short}, `
    return [`${short}--${name}${flag.type === 'string' ? ` ${flag.value ?? 'VALUE'}` : ''}`, flag.about] as const
  })
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const flags = rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`)
  return [`${spec.about}`, '', `usage: parley ${spec.usage}`, ...(flags.length > 0 ? ['', ...flags] : [])].join('\n')
}
