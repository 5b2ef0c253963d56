/**
 * The hooks of one conversation: selects the hooks of a moment, runs them and combines their results.
 *
 * Invariants
 *   H1. Hooks of one moment run one after the other in the order of their configuration; the first block ends the sequence.
 *   H2. No hook takes longer than its timeout; processes that it started end with it.
 *   H3. An async hook is not awaited, so it blocks nothing; it ends with the session at the latest.
 */
import type { Log } from '../observability/index.ts'
import type {
  Action,
  ConversationId,
  Draft,
  EventId,
  HookConfig,
  HookDefinition,
  HookEventType,
  Observation,
} from '@parley/protocol'
import type { Workspace } from '../workspace/index.ts'
import { toolMatcher, type FullMatch } from './match.ts'
import { labelOf, runModelHook, type AskModel } from './model-hook.ts'
import { cut, cutInput, runHook, type HookInput, type HookResult } from './run-hook.ts'

export type HooksDeps = {
  conversationId: ConversationId
  workspace: Workspace
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  /** Called when the first hook may have to run. */
  loadFullMatch: () => Promise<FullMatch>
  /** Absent: a hook that asks a model fails. */
  askModel?: AskModel
  log: Pick<Log, 'warn'>
}

/** Combined result of the hooks of one moment. `drafts` record executions and costs; they are stored before the event they concern (F32). */
type HookOutcome = {
  drafts: Draft[]
  /** Reason of the block; null when no hook blocked. */
  blocked: string | null
  /** Additional context of all hooks, one per line; null for none. */
  context: string | null
}

type Call = { action_id: EventId; tool_name: string; action: Action }
type Configured = { hook_config: HookConfig | null }

export type Hooks = AsyncDisposable & {
  before(call: Call, state: Configured, signal: AbortSignal): Promise<HookOutcome>
  after(call: Call, observation: Observation, state: Configured, signal: AbortSignal): Promise<HookOutcome>
  /** `id`: the id that the message will be stored under. */
  submit(message: { id: EventId; text: string }, state: Configured, signal: AbortSignal): Promise<HookOutcome>
  /** `reason`: why the agent ended. */
  stop(reason: string, state: Configured, signal: AbortSignal): Promise<HookOutcome>
  sessionStart(state: Configured, signal: AbortSignal): Promise<HookOutcome>
  /** Resolves when no async hook runs any more. */
  sessionEnd(state: Configured, signal: AbortSignal): Promise<HookOutcome>
}

type Moment = {
  event: HookEventType
  config: HookConfig | null
  tool?: Call
  observation?: Observation
  message?: { id: EventId; text: string }
  metadata?: Record<string, unknown>
}

const LISTS = {
  PreToolUse: 'pre_tool_use',
  PostToolUse: 'post_tool_use',
  UserPromptSubmit: 'user_prompt_submit',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  Stop: 'stop',
} as const satisfies Record<HookEventType, keyof HookConfig>

const BLOCKING: ReadonlySet<HookEventType> = new Set(['PreToolUse', 'UserPromptSubmit', 'Stop'])

/** True when any hook is configured for this moment, whatever tool it matches. */
export function hasHooks(config: HookConfig | null, event: HookEventType): boolean {
  return config !== null && config[LISTS[event]].some(({ hooks }) => hooks.length > 0)
}

/** Starts nothing; each method runs the hooks of its moment. */
export function openHooks({ conversationId, workspace, confirm, loadFullMatch, askModel, log }: HooksDeps): Hooks {
  const session = new AbortController()
  const running = new Set<Promise<unknown>>()

  function startAsync(hook: HookDefinition, input: HookInput): HookResult {
    if (input.event_type === 'PreToolUse')
      log.warn({ conversation_id: conversationId, hook: hook.command }, 'async hook cannot block a call')
    const ended = runHook(hook, input, workspace, session.signal)
      .catch((err: unknown) => {
        if (!session.signal.aborted) log.warn({ conversation_id: conversationId, err }, 'async hook failed')
      })
      .finally(() => running.delete(ended))
    running.add(ended)
    return {
      success: true,
      blocked: false,
      exit_code: 0,
      reason: null,
      additional_context: null,
      error: null,
      stdout: '',
      stderr: '',
    }
  }

  async function run(
    hook: HookDefinition,
    input: HookInput,
    signal: AbortSignal,
  ): Promise<{ result: HookResult; drafts: Draft[] }> {
    if (hook.type !== 'command') return runModelHook(hook, input, askModel, signal)
    return { result: hook.async ? startAsync(hook, input) : await runHook(hook, input, workspace, signal), drafts: [] }
  }

  async function fire(moment: Moment, signal: AbortSignal): Promise<HookOutcome> {
    const { event, config, tool } = moment
    const outcome: HookOutcome = { drafts: [], blocked: null, context: null }
    if (!hasHooks(config, event)) return outcome
    const toolName = tool?.tool_name ?? null
    const fullMatch = await loadFullMatch()
    const matching = config![LISTS[event]].filter(({ matcher }) => toolMatcher(matcher, fullMatch)(toolName))
    const input = inputOf(moment, conversationId, workspace.workingDir)
    for (const hook of matching.flatMap(({ hooks }) => hooks)) {
      await confirm(signal)
      const { result, drafts } = await run(hook, input, signal)
      outcome.drafts.push(...drafts)
      const blocked = result.blocked && BLOCKING.has(event)
      outcome.drafts.push(recordOf(hook, moment, input, { ...result, blocked }))
      if (result.additional_context !== null)
        outcome.context =
          outcome.context === null ? result.additional_context : `${outcome.context}\n${result.additional_context}`
      if (blocked) {
        outcome.blocked = result.reason ?? 'Blocked by hook'
        break
      }
    }
    return outcome
  }

  async function endAsync(): Promise<void> {
    session.abort(new Error('the session of the hooks has ended'))
    await Promise.all(running)
  }

  return {
    before: (tool, { hook_config: config }, signal) => fire({ event: 'PreToolUse', config, tool }, signal),
    after: (tool, observation, { hook_config: config }, signal) =>
      fire({ event: 'PostToolUse', config, tool, observation }, signal),
    submit: (message, { hook_config: config }, signal) => fire({ event: 'UserPromptSubmit', config, message }, signal),
    stop: (reason, { hook_config: config }, signal) => fire({ event: 'Stop', config, metadata: { reason } }, signal),
    sessionStart: ({ hook_config: config }, signal) => fire({ event: 'SessionStart', config }, signal),
    async sessionEnd({ hook_config: config }, signal) {
      const outcome = await fire({ event: 'SessionEnd', config }, signal)
      await endAsync()
      return outcome
    },
    [Symbol.asyncDispose]: endAsync,
  }
}

function inputOf(
  { event, tool, observation, message, metadata }: Moment,
  session_id: string,
  working_dir: string,
): HookInput {
  return {
    event_type: event,
    tool_name: tool?.tool_name ?? null,
    tool_input: tool?.action ?? null,
    tool_response: observation ?? null,
    message: message?.text ?? null,
    session_id,
    working_dir,
    metadata: metadata ?? {},
  }
}

function recordOf(hook: HookDefinition, { event, tool, message }: Moment, input: HookInput, result: HookResult): Draft {
  return {
    kind: 'HookExecutionEvent',
    source: 'hook',
    hook_event_type: event,
    hook_command: cut(labelOf(hook)),
    tool_name: tool?.tool_name ?? null,
    ...result,
    action_id: tool?.action_id ?? null,
    message_id: message?.id ?? null,
    hook_input: cutInput(input),
  }
}
