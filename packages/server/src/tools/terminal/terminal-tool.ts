/** Runs commands in the conversation's persistent shell. Source: agent-core.md 8.2. */
import { join } from 'node:path'
import { type EventId, invalidInput, ParleyError, TerminalAction } from '@parley/protocol'
import { z } from 'zod'
import type { TerminalRequest, TerminalResult } from '../../workspace/index.ts'
import { defineTool } from '../define.ts'
import { unlessUnknown, type Tool, type ToolContext } from '../tool.ts'
import { DESCRIPTION, PARAMETERS } from './description.ts'
import { keepIn, type Keep } from '../full-output.ts'
import { observe, refusal } from './observation.ts'
import { mask } from '../../secrets/index.ts'

const Params = z.strictObject({
  /** Seconds without output after which the call returns. */
  no_change_timeout_seconds: z.number().positive().nullish(),
  /** Environment variables of every command. */
  env: z.record(z.string(), z.string()).nullish(),
  /**
   * Accepted for compatibility and ignored: there is one kind of terminal, and commands run as the user of the server.
   */
  terminal_type: z.enum(['tmux', 'subprocess']).nullish(),
  username: z.string().nullish(),
  shell_path: z
    .string()
    .regex(/(^|\/)bash$/, 'the shell is the bash in PATH')
    .nullish(),
})

const NO_CHANGE_SECONDS = 30
/** The limit of silence grows to this multiple of its first value. */
const MAX_GROWTH = 20

/** A list or a dictionary in place of a command, but not `[ … ]`, `[[ … ]]` or `{ …; }`. */
const LITERAL = /^(\[\{|\["|\['|\[\[\S|\{"|\{')/

/**
 * The `terminal` tool.
 * @throws z.ZodError for unknown parameters.
 */
export function terminalTool(params: Record<string, unknown> = {}): Tool {
  const { no_change_timeout_seconds, env } = Params.parse(params)
  const firstSeconds = no_change_timeout_seconds ?? NO_CHANGE_SECONDS
  /** Seconds of silence after which the next call that waits returns; doubled by each silent one. A restart begins anew. */
  let waitSeconds = firstSeconds
  return defineTool<TerminalAction>({
    kind: 'Terminal',
    name: 'terminal',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    parse(args) {
      const action = TerminalAction.parse({ ...args, kind: 'TerminalAction' })
      if (!action.reset || !action.is_input) return action
      throw invalidInput('reset and is_input exclude each other: after a reset there is nothing to type into')
    },
    resources: () => ['terminal:session'],
    async execute(action, context) {
      const command = action.is_input ? action.command : action.command.trim()
      if (!action.is_input && LITERAL.test(command)) return refusal(action, literalHint(command))
      const secrets = command === '' || action.is_input ? {} : await context.secretsFor(command)
      const isWait = command === '' && !action.is_input && !action.reset
      const noChangeSeconds = isWait ? waitSeconds : firstSeconds
      const request = {
        callId: context.callId,
        command,
        isInput: action.is_input,
        reset: action.reset,
        timeoutMs: action.timeout === null ? null : action.timeout * 1_000,
        noChangeMs: noChangeSeconds * 1_000,
        env: { ...env, ...secrets },
      }
      const result = await attended(request, context)
      if (result === null) return refusal(action, UNKNOWN)
      const isSilent = result.outcome === 'running' && result.limit === 'silence' && result.output === ''
      waitSeconds = isSilent ? Math.min(noChangeSeconds * 2, firstSeconds * MAX_GROWTH) : firstSeconds
      const hasFailed = result.outcome === 'exited' && result.exit_code !== 0
      if (hasFailed && Object.keys(secrets).length > 0) context.services?.secretsFailed?.(command)
      // Masked before it is cut and saved: half a secret would not be recognised.
      const output = await hidden(result.output, Object.values(secrets), context)
      return observe({ action, result: { ...result, output }, keep: keepFor(context), noChangeSeconds, waitSeconds })
    },
    // The runner's ledger has every call that may have started, and attaches a repeated one to it.
    recover: async (_, __, ledger) => unlessUnknown(ledger),
  })
}

/** The path must be readable for the conversation's commands. */
function keepFor({ workspace, dataDir, signal }: ToolContext): Keep {
  if (workspace.keepText === undefined) return keepIn(join(dataDir, 'terminal'))
  return (name, text) => workspace.keepText!(name, text, signal)
}

const UNKNOWN =
  '[The process that runs commands ended while this command ran. Its outcome is not known, and it was not repeated. ' +
  'Look at what it may have changed before you go on. The next command gets a new shell.]'

const literalHint = (command: string): string =>
  `[Not executed: this is a list or a dictionary, not a command: ${command.slice(0, 80)}\n` +
  'Give the command itself as a plain string, as you would type it into a shell.]'

/**
 * Returns the result; null when it is unknown. A lost connection does not end a command: the call attaches once more.
 */
async function attended(request: TerminalRequest, context: ToolContext): Promise<TerminalResult | null> {
  const { workspace, signal, services, callId } = context
  const live = services?.liveOutput
  const onOutput = live === undefined ? undefined : (text: string) => live.add(callId as EventId, text)
  await using _shown = { [Symbol.asyncDispose]: async () => live?.end(callId as EventId) }
  try {
    return await workspace.terminal(request, signal, onOutput)
  } catch (error) {
    if (isUnknown(error)) return null
    if (!(error instanceof ParleyError) || error.code !== 'unavailable' || signal.aborted) throw error
  }
  try {
    return await workspace.terminal(request, signal, onOutput)
  } catch (error) {
    if (isUnknown(error)) return null
    throw error
  }
}

const isUnknown = (error: unknown): boolean =>
  error instanceof ParleyError && error.details['reason'] === 'unknown_outcome'

/** Saved output passes no other masking, so secrets are masked here, at least those of the command. */
const hidden = async (text: string, own: readonly string[], { services }: ToolContext): Promise<string> =>
  services?.hide === undefined ? mask(text, own) : services.hide(text)
