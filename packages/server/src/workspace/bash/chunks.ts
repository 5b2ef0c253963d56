/** Cuts what a command printed into outputs of bounded size. Pure. Source: agent-server-wire.md 1.7. */
import { constants } from 'node:os'
import type { BashOutput } from '@parley/protocol'
import type { ExecResult } from '../workspace.ts'

/** Characters of one stream in one output. */
export const CHUNK_CHARS = 1024 * 1024
/** What a command that ran out of time, or never began, ends with. */
export const NO_EXIT_CODE = -1

export type Chunk = Pick<BashOutput, 'exit_code' | 'stdout' | 'stderr'>

/** At least one; only the last one has an exit code, because clients stop reading at the first (agent-server-wire.md 11, 17). */
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

/** The one output of a command that could not be run. */
export const failed = (reason: string): Chunk => ({
  exit_code: NO_EXIT_CODE,
  stdout: null,
  stderr: `Error executing command: ${reason}`,
})

function exitCode({ timedOut, exit_code, signal }: ExecResult): number {
  if (timedOut) return NO_EXIT_CODE
  if (exit_code !== null) return exit_code
  // As the parent of a process is told: minus the number of the signal.
  return -(constants.signals[signal as NodeJS.Signals] ?? 1)
}

function leftOut({ stdout, stderr }: ExecResult['dropped']): string {
  return [['stdout', stdout] as const, ['stderr', stderr] as const]
    .filter(([, bytes]) => bytes > 0)
    .map(([name, bytes]) => `\n[${bytes} bytes in the middle of ${name} were not kept]\n`)
    .join('')
}

const orNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text)

/** A character of two units is never cut through. */
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
