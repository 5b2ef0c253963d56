/** Splits the output of a command into events of bounded size. Pure. Source: agent-server-wire.md 1.7. */
import { constants } from 'node:os'
import type { BashOutput } from '@parley/protocol'
import type { ExecResult } from '../workspace.ts'

/** Characters of one stream in one output. */
const CHUNK_CHARS = 1024 * 1024
/** Exit code of a command that ran into its time limit or never started. */
const NO_EXIT_CODE = -1

export type Chunk = Pick<BashOutput, 'exit_code' | 'stdout' | 'stderr'>

/** At least one chunk; only the last one has an exit code, because clients stop reading at the first exit code (agent-server-wire.md 11). */
export function chunksOf(result: ExecResult): Chunk[] {
  const stdout = pieces(result.stdout)
  const stderr = pieces(result.stderr + leftOut(result.dropped))
  const last = { exit_code: exitCode(result), stdout: orNull(stdout.pop()), stderr: orNull(stderr.pop()) }
  const only = { exit_code: null, stdout: null, stderr: null }
  return [
    ...stdout.map((text) => ({ ...only, stdout: text })),
    ...stderr.map((text) => ({ ...only, stderr: text })),
    last,
  ]
}

/** The only output of a command that could not be run. */
export const failed = (reason: string): Chunk => ({
  exit_code: NO_EXIT_CODE,
  stdout: null,
  stderr: `Error executing command: ${reason}`,
})

function exitCode({ timedOut, exit_code, signal }: ExecResult): number {
  if (timedOut) return NO_EXIT_CODE
  if (exit_code !== null) return exit_code
  // A negative exit code is the number of the signal that ended the process.
  return -(constants.signals[signal as NodeJS.Signals] ?? 1)
}

function leftOut({ stdout, stderr }: ExecResult['dropped']): string {
  return [['stdout', stdout] as const, ['stderr', stderr] as const]
    .filter(([, bytes]) => bytes > 0)
    .map(([name, bytes]) => `\n[${bytes} bytes in the middle of ${name} were not kept]\n`)
    .join('')
}

const orNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text)

/** Splits a text without cutting through a surrogate pair. */
function pieces(text: string): string[] {
  const list: string[] = []
  let from = 0
  while (text.length - from > CHUNK_CHARS) {
    const isHigh = (text.charCodeAt(from + CHUNK_CHARS - 1) & 0xfc00) === 0xd800
    const to = from + CHUNK_CHARS - (isHigh ? 1 : 0)
    list.push(text.slice(from, to))
    from = to
  }
  list.push(text.slice(from))
  return list
}
