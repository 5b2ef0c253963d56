/** Commands of hooks, run in the workspace with its allow-listed environment. Source: agent-core.md 5.2. */
import type { HookDefinition, HookEventType } from '@parley/protocol'
import { timeoutSignal } from '../lib/index.ts'
import type { ExecResult, Workspace } from '../workspace/index.ts'
import { verdictOf, type CommandEnd, type HookVerdict } from './verdict.ts'

/** Input of a hook on standard input. */
export type HookInput = {
  event_type: HookEventType
  tool_name: string | null
  tool_input: Record<string, unknown> | null
  tool_response: Record<string, unknown> | null
  message: string | null
  session_id: string
  working_dir: string
  metadata: Record<string, unknown>
}

export type HookResult = HookVerdict & { stdout: string; stderr: string }

/** Characters of each text that are kept. Source: agent-server-wire.md 10.1. */
const MAX_KEPT_CHARS = 50_000
const MARKER = '\n[cut: the rest is left out]'
/** Bytes of each stream that are read; a longer output is not taken as an answer. */
const MAX_BYTES = 1024 * 1024
const MAX_SECONDS = 86_400
/** Milliseconds beyond the hook's timeout in which the workspace ends the process group. */
const MARGIN_MS = 10_000

/**
 * The verdict of a hook that fails: its own `on_error`, or the default of its moment. A call that a hook guards is not made without
 * its verdict; at the other moments a failure changes nothing. Source: docs/hooks.md, Input and output of a command.
 */
export const onErrorOf = ({ on_error }: HookDefinition, { event_type }: HookInput): 'allow' | 'deny' =>
  on_error ?? (event_type === 'PreToolUse' ? 'deny' : 'allow')

/** Timeout of a hook in seconds, within limits. */
export const secondsOf = ({ timeout }: HookDefinition): number => Math.min(Math.max(timeout, 1), MAX_SECONDS)

/**
 * Runs the command to its end or its timeout, at which its whole process group is ended. Failures are part of the result.
 * @throws the signal's reason when aborted
 */
export async function runHook(
  hook: HookDefinition,
  input: HookInput,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<HookResult> {
  const ended = await runCommand(hook, input, workspace, signal)
  const verdict = verdictOf(ended, onErrorOf(hook, input))
  return {
    ...verdict,
    reason: verdict.reason === null ? null : cut(verdict.reason),
    additional_context: verdict.additional_context === null ? null : cut(verdict.additional_context),
    error: verdict.error === null ? null : cut(verdict.error),
    stdout: cut(ended.stdout),
    stderr: cut(ended.stderr),
  }
}

async function runCommand(
  hook: HookDefinition,
  input: HookInput,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const seconds = secondsOf(hook)
  const late = timeoutSignal(seconds * 1000 + MARGIN_MS)
  try {
    const result = await workspace.exec(
      {
        argv: ['sh', '-c', hook.command],
        env: environment(input),
        stdin: JSON.stringify(input),
        timeoutMs: seconds * 1000,
        maxBytes: MAX_BYTES,
      },
      AbortSignal.any([signal, late]),
    )
    return { ...result, failure: failureOf(result, seconds) }
  } catch (error) {
    signal.throwIfAborted()
    const failure = late.aborted ? tooLong(seconds) : `The hook could not be run: ${(error as Error).message}`
    return { exit_code: null, failure, stdout: '', stderr: '' }
  }
}

function failureOf({ timedOut, exit_code, signal }: ExecResult, seconds: number): string | null {
  if (timedOut) return tooLong(seconds)
  return exit_code === null ? `The hook was ended by ${signal ?? 'an unknown signal'}.` : null
}

const tooLong = (seconds: number): string => `The hook did not end within ${seconds} s and was stopped.`

/** Variables under our names and under the names that existing hooks read. */
function environment({ event_type, tool_name, session_id, working_dir }: HookInput): Record<string, string> {
  const values = {
    PROJECT_DIR: working_dir,
    SESSION_ID: session_id,
    EVENT_TYPE: event_type,
    ...(tool_name === null ? {} : { TOOL_NAME: tool_name }),
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [`PARLEY_${name}`, value],
      [`OPENHANDS_${name}`, value],
    ]),
  )
}

/** The text, shortened to `MAX_KEPT_CHARS`. */
export function cut(text: string): string {
  return text.length <= MAX_KEPT_CHARS ? text : text.slice(0, MAX_KEPT_CHARS - MARKER.length) + MARKER
}

/** The input as it is recorded, with its texts shortened; the hook itself gets them in full. */
export function cutInput(input: HookInput): Record<string, unknown> {
  return JSON.parse(JSON.stringify(input), (_, value: unknown) =>
    typeof value === 'string' ? cut(value) : value,
  ) as Record<string, unknown>
}
