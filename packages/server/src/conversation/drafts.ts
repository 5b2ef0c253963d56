/** Event drafts that the engine itself writes; pure. */
import type { ConversationExecutionStatus, ConversationState, Draft, LLM, OpenAction } from '@parley/protocol'
import { classify, INTERNAL_ERROR, textContent, userMessage } from '@parley/protocol'

export { userMessage } from '@parley/protocol'

/** A status change, which watchers receive as a state update. */
export function statusChanged(status: ConversationExecutionStatus, reason: string | null = null): Draft {
  return { kind: 'StatusChangedEvent', source: 'environment', status, reason }
}

/** A pause, in any status. */
export const pausing = (): Draft[] => [statusChanged('paused'), { kind: 'PauseEvent', source: 'user' }]

/** A message of the service to the agent; no human turn (F40). */
export function serviceMessage(text: string): Draft {
  const { source: _, ...message } = userMessage([textContent(text)])
  return { ...message, source: 'environment' }
}

/** Closes an action without a result, so that every call keeps exactly one answer (F05, F06, F07). */
export function closeAction(action: OpenAction, error: string, classification = INTERNAL_ERROR): Draft {
  return {
    kind: 'AgentErrorEvent',
    source: 'agent',
    tool_name: action.tool_name,
    tool_call_id: action.tool_call_id,
    error,
    classification,
  }
}

/** A person's refusal of one action. Source: agent-core.md 1.10. */
export function rejectAction(action: OpenAction, reason: string): Draft {
  return {
    kind: 'UserRejectObservation',
    source: 'environment',
    tool_name: action.tool_name,
    tool_call_id: action.tool_call_id,
    rejection_reason: reason,
    rejection_source: 'user',
    action_id: action.id,
  }
}

/** The failure of a run, for people and clients; not shown to the model. */
export function conversationError(code: string, detail: string): Draft {
  return { kind: 'ConversationErrorEvent', source: 'environment', code, detail, classification: classify(code, detail) }
}

/** The wait before a request to a model is repeated. `attempt` counts from 1. */
export function modelRetry(
  { model, usage_id }: Pick<LLM, 'model' | 'usage_id'>,
  { attempt, waitSeconds, error }: { attempt: number; waitSeconds: number; error: Error & { code: string } },
): Draft {
  const wait_seconds = Math.round(waitSeconds * 1000) / 1000
  const { code, message: detail } = error
  return { kind: 'ModelRetryEvent', source: 'environment', usage_id, model, attempt, wait_seconds, code, detail }
}

/** A warning about a server that shortens requests without an error. `window` in tokens. The run continues. */
export const smallWindow = (model: string, window: number): Draft =>
  conversationError(
    'LLMSmallContextWindow',
    `Ollama has loaded ${model} with a context window of ${window} tokens, and leaves out the beginning of longer requests without an error, ` +
      'so that the agent forgets its instructions. Start Ollama with OLLAMA_CONTEXT_LENGTH=65536, or set num_ctx of the model.',
  )

/** A failure as a code and a sentence without secrets of the server. */
export function describe(error: unknown): { code: string; detail: string } {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return { code: error.code, detail: error.message }
  if (error instanceof Error) return { code: error.name, detail: error.message }
  return { code: 'Error', detail: String(error) }
}

/** Leaves a conversation paused during whose run the process crashed `crashes` times; `run` takes it up again. */
export const pausedAfterCrashes = (state: ConversationState, crashes: number): Draft[] =>
  pausedWhenLoaded(
    state,
    'RepeatedCrash',
    `The server crashed ${crashes} times while this conversation ran, so it was paused. Other conversations that ran may be the cause. ` +
      'Run it again to continue.',
  )

/** Leaves a conversation paused that was running in the backup it was restored from; `run` takes it up again. */
export const pausedAfterRestore = (state: ConversationState, backupAt: string): Draft[] =>
  pausedWhenLoaded(
    state,
    'RestoredFromBackup',
    `This conversation was running when the backup of ${backupAt} was made. It was restored from that backup and paused, because files and ` +
      'other systems may have changed since. Run it again to continue.',
  )

/** A conversation that is loaded by a new process and does not resume by itself. The event says why. */
function pausedWhenLoaded({ execution_status, start }: ConversationState, code: string, detail: string): Draft[] {
  const isStarting = start?.status !== 'failed' && !(start?.phase === 'ready' && start.status === 'done')
  const phase = start?.phase ?? 'workspace'
  const failed: Draft = { kind: 'StartPhaseEvent', source: 'environment', phase, status: 'failed', code, detail }
  return [
    ...(isStarting ? [failed] : []),
    conversationError(code, detail),
    ...(execution_status === 'running' ? [statusChanged('paused', code)] : []),
  ]
}
