/**
 * Who answers a hook that asks a model: the model alone for type `prompt`; with tools that only read, for a bounded number
 * of rounds, for type `agent`. It is no part of the conversation and keeps nothing. Source: agent-core.md 5.3, F76.
 */
import {
  EMPTY_STATE,
  type ActionEvent,
  type ConversationId,
  type Draft,
  type HookConfig,
  type HookDefinition,
} from '@parley/protocol'
import { hooksIn, type HookQuestion } from '../hooks/index.ts'
import type { Llm, LlmAnswer, LlmMessage, LlmText, LlmTool } from '../llm/index.ts'
import { flatten, readOnlyTools, type Locks, type Tool } from '../tools/index.ts'
import type { Workspace } from '../workspace/index.ts'
import { Gateway, type Judged, type Log } from './gateway.ts'
import { action, answer as answerTo, NO_THOUGHT, usage } from './native/drafts.ts'
import type { Answer } from './native/pairing.ts'
import { renderAnswer } from './native/render.ts'

export type HookHelperDeps = {
  conversationId: ConversationId
  llm: Llm
  workspace: Workspace
  /** A folder of the conversation outside the workspace. */
  dataDir: string
  locks: Locks
  log: Log
  /** Hides what the conversation's own model is not shown either. */
  mask: (text: string) => Promise<string>
  /** Told what each answer cost. */
  spent: (usage: Draft) => void
}

/** Answers of the model that a helper may need, whatever its hook says. */
const MAX_ROUNDS = 50

/**
 * What the model says in the end.
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
  const perform = performer(tools, deps, signal)
  const messages: LlmMessage[] = [
    { role: 'system', content: [textOf(system)] },
    { role: 'user', content: [textOf(await deps.mask(user))] },
  ]
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted()
    const said = await deps.llm.complete({ messages, tools: [...tools.values()].map(shown) }, () => undefined, signal)
    deps.spent(usage(said, said.responseId, deps.llm))
    if (said.toolCalls.length === 0 || tools.size === 0) return said.text
    messages.push(assistant(said))
    for (const call of said.toolCalls) {
      const done = await perform(call)
      if (done.finished !== null) return done.finished
      messages.push(done.message)
    }
  }
  throw new Error(`it gave no answer within ${rounds} rounds`)
}

/**
 * Checks what hooks of type `agent` name, without opening anything.
 * @throws ParleyError `invalid_input` for a tool that does not exist or can change something.
 */
export function expectHookTools(config: HookConfig | null | undefined): void {
  for (const { hook } of hooksIn(config)) if (hook.type === 'agent') readOnlyTools(hook.tools)
}

type Call = LlmAnswer['toolCalls'][number]
type Done = { finished: string } | { finished: null; message: LlmMessage }

/** One call after the other, through the one way to any tool; what they answer is told to the model masked. */
function performer(tools: ReadonlyMap<string, Tool>, deps: HookHelperDeps, signal: AbortSignal) {
  const { conversationId, workspace, dataDir, locks, log, mask } = deps
  const secretsFor = () => Promise.resolve({})
  const gateway = new Gateway({ conversationId, tools, workspace, dataDir, locks, log, secretsFor })
  const resultOf = (call: Call, content: LlmText[], isError: boolean): Done => ({
    finished: null,
    message: { role: 'tool', toolCallId: call.id, toolName: call.name, content, isError },
  })
  return async (call: Call): Promise<Done> => {
    const judged = await gateway.judge(call, EMPTY_STATE, signal)
    if (judged.kind === 'invalid') return resultOf(call, [textOf(judged.error)], true)
    if (judged.action.kind === 'FinishAction') return { finished: judged.action.message }
    const event = eventOf(judged)
    const [draft] = answerTo(event, await gateway.perform(event, EMPTY_STATE, signal)).slice(-1)
    const { content, isError } = renderAnswer(draft as Answer)
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : ['[an image, which is not shown]']))
    return resultOf(call, [textOf(await mask(texts.join('\n')))], isError)
  }
}

/** The call in the form that tools are given; it is stored nowhere. */
function eventOf(judged: Judged): ActionEvent {
  const drafted = action(judged, '', NO_THOUGHT)
  return { ...drafted, timestamp: new Date().toISOString(), parent_id: null } as unknown as ActionEvent
}

function assistant({ text, reasoning, thinkingBlocks, reasoningItem, toolCalls }: LlmAnswer): LlmMessage {
  return {
    role: 'assistant',
    content: text.trim() === '' ? [] : [textOf(text)],
    toolCalls,
    ...(reasoning === null ? {} : { reasoning }),
    ...(thinkingBlocks.length === 0 ? {} : { thinkingBlocks }),
    ...(reasoningItem === undefined ? {} : { reasoningItem }),
  }
}

const textOf = (text: string): LlmText => ({ type: 'text', text })

const shown = ({ name, definition, parameters }: Tool): LlmTool => ({
  name,
  description: definition.description,
  parameters: flatten(parameters),
})
