/**
 * Answers hooks that ask a model. Type `prompt` is one request; type `agent` has read-only tools and a limited number of rounds.
 * Nothing of it enters the conversation. Source: agent-core.md 5.3, F76.
 */
import {
  type ActionEvent,
  type ConversationId,
  type Draft,
  EMPTY_STATE,
  type HookConfig,
  type HookDefinition,
  relocate,
  textOf,
} from '@parley/protocol'
import { hooksIn, type HookQuestion } from '../hooks/index.ts'
import type { Llm, LlmAnswer, LlmMessage, LlmText, LlmTool } from '../llm/index.ts'
import { flatten, readOnlyTools, type Locks, type Tool } from '../tools/index.ts'
import type { Workspace } from '../workspace/index.ts'
import type { PreparedCall } from './gateway/prepared-call.ts'
import { ToolGateway } from './gateway/tool-gateway.ts'
import type { Log } from './agent.ts'
import { action, callResult, NO_THOUGHT, usage } from './drafts.ts'
import type { CallResult } from './view/pairing.ts'
import { renderResult } from './view/render.ts'

export type HookHelperDeps = {
  conversationId: ConversationId
  llm: Llm
  workspace: Workspace
  /** A folder of the conversation outside the workspace. */
  dataDir: string
  locks: Locks
  /** Resolves when this process may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  log: Log
  /** Masks the secrets that the conversation's own model does not see either. */
  mask: (text: string) => Promise<string>
  /** Takes the usage record of each answer. */
  spent: (usage: Draft) => void
}

/** Upper limit of rounds, whatever the hook's own limit is. */
const MAX_ROUNDS = 50

/**
 * Returns the final text of the model.
 * @throws LlmError; Error when no answer came within the rounds; the signal's reason when aborted.
 */
export async function askHookHelper(
  hook: HookDefinition,
  { system, user }: HookQuestion,
  deps: HookHelperDeps,
  signal: AbortSignal,
): Promise<string> {
  const tools = hook.type === 'agent' ? readOnlyTools(hook.tools) : new Map<string, Tool>()
  const rounds = hook.type === 'agent' ? Math.min(Math.max(1, hook.max_iterations), MAX_ROUNDS) : 1
  const execute = executor(tools, deps, signal)
  const messages: LlmMessage[] = [
    { role: 'system', content: [textPart(system)] },
    { role: 'user', content: [textPart(await deps.mask(user))] },
  ]
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted()
    const answer = await deps.llm.complete({ messages, tools: [...tools.values()].map(shown) }, () => undefined, signal)
    deps.spent(usage(answer, answer.responseId, deps.llm))
    if (answer.toolCalls.length === 0 || tools.size === 0) return answer.text
    messages.push(assistant(answer))
    for (const call of answer.toolCalls) {
      const result = await execute(call)
      if (result.finished !== null) return result.finished
      messages.push(result.message)
    }
  }
  throw new Error(`it gave no answer within ${rounds} rounds`)
}

/**
 * Checks the tools that hooks of type `agent` name, without opening anything.
 * @throws ParleyError `invalid_input` for a tool that does not exist or can change something.
 */
export function expectHookTools(config: HookConfig | null | undefined): void {
  for (const { hook, at } of hooksIn(config))
    if (hook.type === 'agent')
      relocate(
        () => [...at, 'tools'],
        () => readOnlyTools(hook.tools),
      )
}

type Call = LlmAnswer['toolCalls'][number]
type Result = { finished: string } | { finished: null; message: LlmMessage }

/** Executes calls one after the other through the tool gateway; the model sees their results masked. */
function executor(tools: ReadonlyMap<string, Tool>, deps: HookHelperDeps, signal: AbortSignal) {
  const { conversationId, workspace, dataDir, locks, confirm, log, mask } = deps
  const secretsFor = () => Promise.resolve({})
  const gateway = new ToolGateway({ conversationId, tools, workspace, dataDir, locks, confirm, log, secretsFor })
  const resultOf = (call: Call, content: LlmText[], isError: boolean): Result => ({
    finished: null,
    message: { role: 'tool', toolCallId: call.id, toolName: call.name, content, isError },
  })
  return async (call: Call): Promise<Result> => {
    const prepared = await gateway.prepareCall(call, EMPTY_STATE, signal)
    if (prepared.kind === 'invalid') return resultOf(call, [textPart(prepared.error)], true)
    if (prepared.action.kind === 'FinishAction') return { finished: prepared.action.message }
    const event = eventOf(prepared)
    const [draft] = callResult(event, await gateway.perform(event, EMPTY_STATE, signal)).slice(-1)
    const { content, isError } = renderResult(draft as CallResult)
    const text = textOf(content, { other: '[an image, which is not shown]' })
    return resultOf(call, [textPart(await mask(text))], isError)
  }
}

/** The call as the event that tools take; it is not stored. */
function eventOf(prepared: PreparedCall): ActionEvent {
  const drafted = action(prepared, '', NO_THOUGHT)
  return { ...drafted, timestamp: new Date().toISOString(), parent_id: null } as unknown as ActionEvent
}

function assistant({ text, reasoning, raw, toolCalls }: LlmAnswer): LlmMessage {
  return {
    role: 'assistant',
    content: text.trim() === '' ? [] : [textPart(text)],
    toolCalls,
    ...(reasoning === null ? {} : { reasoning }),
    ...(raw === null ? {} : { raw }),
  }
}

const textPart = (text: string): LlmText => ({ type: 'text', text })

const shown = ({ name, definition, parameters }: Tool): LlmTool => ({
  name,
  description: definition.description,
  parameters: flatten(parameters),
})
