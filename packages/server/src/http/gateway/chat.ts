/**
 * Chat completions as conversations. The end of a run is an event, so nothing is polled.
 * Source: agent-server-wire.md 1.13, 3.
 */
import {
  chatCompletion,
  type ChatCompletionRequest,
  type ConversationId,
  type ConversationInfo,
  laxConversationId,
  listGatewayModels,
  newConversationId,
  ParleyError,
} from '@parley/protocol'
import type { Actor, Conversations } from '../../conversation/index.ts'
import { type Answer, failedRun, isNotFound, NOT_IN_TIME, refusal } from '../core/errors.ts'
import { untilRested } from '../core/prefer-wait.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'
import { completion, CONVERSATION_HEADER, type Spent, streamed } from './answers.ts'
import { type Content, firstWords, instructions, newWords } from './conversation-of.ts'

const PREFIX = 'openhands_'
/** Source: agent-server-wire.md 10.1. */
const WAIT_MS = 120_000

type ChatStart = { id: ConversationId; profile: string; content: Content; instructions: string | null }

export type Gateway = {
  /** Names of the user's profiles. */
  profiles(user: string): Promise<string[]>
  /** Starts a conversation with the model of a profile. @throws ParleyError `not_found` for an unknown one. */
  start(request: ChatStart, actor: Actor): Promise<unknown>
  /** Time limit of an answer in milliseconds; absent: 120 s. */
  waitMs?: number
}

export function gatewayRoutes(conversations: Conversations, gateway: Gateway): Route[] {
  return [
    route(listGatewayModels, async (_call, actor) => {
      const names = await gateway.profiles(actor.user)
      const data = names.map((name) => ({
        id: PREFIX + name,
        object: 'model' as const,
        created: 0,
        owned_by: 'openhands',
      }))
      return ok(listGatewayModels, { object: 'list', data })
    }),
    route(chatCompletion, async ({ body, headers, callerSignal }, actor) => {
      const profile = await profileOf(body, gateway, actor)
      const id = idIn(headers[CONVERSATION_HEADER])
      const before = id === null ? null : await infoOrNull(conversations, id, actor)
      const talk = { id: id ?? newConversationId(), profile, before }
      const waitMs = gateway.waitMs ?? WAIT_MS
      await say(talk, body, { conversations, gateway, actor })
      await untilRested(conversations, talk.id, actor, waitMs, callerSignal())
      const after = await conversations.info(talk.id, actor)
      const without = refusalOf(after, waitMs)
      if (without !== null)
        return { ...without, tookEffect: true, headers: { ...without.headers, [CONVERSATION_HEADER]: talk.id } }
      const facts = {
        id: talk.id,
        model: body.model,
        text: await conversations.finalResponse(talk.id, actor),
        spent: spentBetween(before, after),
        created: Math.floor(Date.now() / 1000),
      }
      return { ...(body.stream === true ? streamed(facts) : completion(facts)), about: talk.id }
    }),
  ]
}

type Talk = { id: ConversationId; profile: string; before: ConversationInfo | null }
type Around = { conversations: Conversations; gateway: Gateway; actor: Actor }

async function say(
  { id, profile, before }: Talk,
  { messages }: ChatCompletionRequest,
  { conversations, gateway, actor }: Around,
) {
  if (before === null) {
    return gateway.start({ id, profile, content: firstWords(messages), instructions: instructions(messages) }, actor)
  }
  // A message would be stored and answered only after the current run, which the caller cannot observe.
  if (before.execution_status === 'waiting_for_confirmation') throw waits()
  return conversations.send(id, { kind: 'send_message', content: newWords(messages), run: true }, actor)
}

async function profileOf({ model }: ChatCompletionRequest, gateway: Gateway, { user }: Actor): Promise<string> {
  const profile = model.startsWith(PREFIX) ? model.slice(PREFIX.length) : ''
  if (profile !== '' && (await gateway.profiles(user)).includes(profile)) return profile
  throw new ParleyError('not_found', `Model '${model}' not found. GET /v1/models lists those that there are.`, {
    details: { model },
  })
}

/** @throws ParleyError `bad_request` for a header that is not a conversation id. */
function idIn(header: string | string[] | undefined): ConversationId | null {
  if (header === undefined || header === '') return null
  const read = laxConversationId().safeParse(header)
  if (read.success) return read.data
  throw new ParleyError('bad_request', 'X-OpenHands-ServerConversation-ID has to be the id of a conversation.')
}

async function infoOrNull(
  conversations: Conversations,
  id: ConversationId,
  actor: Actor,
): Promise<ConversationInfo | null> {
  try {
    return await conversations.info(id, actor)
  } catch (error) {
    if (isNotFound(error, 'conversation')) return null
    throw error
  }
}

/** The answer without a completion; null when there is one. The message is stored in either case. */
function refusalOf({ id, execution_status }: ConversationInfo, waitMs: number): Answer | null {
  switch (execution_status) {
    case 'finished':
    case 'idle':
      return null
    case 'running':
      return NOT_IN_TIME(
        `the conversation ${id} has not finished after ${waitMs / 1000} s; it is still running, ask again`,
      )
    case 'error':
    case 'stuck':
      return failedRun(`the run ended with the status ${execution_status}; the events of ${id} say why`)
    case 'waiting_for_confirmation':
      return refusal(waits())
    default:
      return refusal(new ParleyError('conflict', `The conversation is ${execution_status}. Run it again to go on.`))
  }
}

const waits = () =>
  new ParleyError('conflict', 'An action of this conversation waits for a confirmation. Answer that first.')

function spentBetween(before: ConversationInfo | null, after: ConversationInfo): Spent {
  const [from, to] = [tokensOf(before), tokensOf(after)]
  return {
    prompt_tokens: to.prompt_tokens - from.prompt_tokens,
    completion_tokens: to.completion_tokens - from.completion_tokens,
  }
}

/** Usage of the answer, without that of the conversation's title, which is made at any time. */
function tokensOf(info: ConversationInfo | null): Spent {
  const { title: _, ...counted } = info?.stats?.usage_to_metrics ?? {}
  const metrics = Object.values(counted)
  const sum = (member: keyof Spent) =>
    metrics.reduce((total, { accumulated_token_usage: usage }) => total + (usage?.[member] ?? 0), 0)
  return { prompt_tokens: sum('prompt_tokens'), completion_tokens: sum('completion_tokens') }
}
