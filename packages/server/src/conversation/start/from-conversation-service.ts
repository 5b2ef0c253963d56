import {
  AgentBase,
  type ImageContent,
  type InitSessionRequest,
  LLM,
  readReplay,
  type TextContent,
} from '@parley/protocol'
import { type StandardTools, toolsOfReplay } from '../../agent/index.ts'
import { serversOf, type ConversationDefaults } from '../../settings/index.ts'
import type { StartRequest } from '../conversations.ts'
import type { ConversationTrigger } from '../record/record.ts'
import { fingerprint } from './fingerprint.ts'
import { taskPrompt } from './task-prompt.ts'
import { recordingOf, type Readable } from '../trajectory/read.ts'

/** Defaults for the request: the user's settings, and below them the server's configuration. */
export type StartDefaults = Pick<ConversationDefaults, 'llm'> &
  Partial<ConversationDefaults> & { toolsFor: StandardTools }

/** Options in the query. `stopOnDivergence`: pause a replay at the first result that differs from the recorded one. */
export type ReplayOptions = { stopOnDivergence?: boolean }

/**
 * Converts New Conversation to a start. Pure. Source: interface.md, New Conversation; conversation-service.md 1.1.
 */
export function fromConversationService(
  body: InitSessionRequest,
  defaults: StartDefaults,
  { stopOnDivergence = false }: ReplayOptions = {},
): StartRequest {
  const played = playedOf(body)
  const instructions = body.conversation_instructions ?? null
  const agent = AgentBase.parse({
    kind: 'Agent',
    llm: defaults.llm,
    tools: played === null ? defaults.toolsFor(LLM.parse(defaults.llm)) : toolsOfReplay(calledIn(played)),
    // The configuration of the request replaces the user's own, for this conversation. Source: conversation-service.md 1.1.
    mcp_config: {
      ...(played === null ? defaults.search : {}),
      ...(body.mcp_config === null ? defaults.mcp_config : serversOf(body.mcp_config)),
    },
    condenser: defaults.condenser ?? null,
    agent_context: {
      system_message_suffix: instructions,
      // The recorded messages were sent without them.
      load_user_skills: played === null,
      load_project_skills: played === null && repositoryOf(body) !== null,
    },
  })
  const request: StartRequest = {
    agent,
    initial_message: played === null ? firstMessage(body) : { content: played.first },
    replay: played === null ? null : { recording: played.recording, stopOnDivergence },
    repository: repositoryOf(body),
    trigger: triggerOf(body),
    title: body.create_microagent?.title || null,
    fingerprint: fingerprint(stopOnDivergence ? { ...body, stopOnDivergence } : body),
  }
  if (defaults.max_iterations !== undefined) request.max_iterations = defaults.max_iterations
  if (defaults.max_budget_per_task !== undefined) request.max_budget_per_task = defaults.max_budget_per_task
  if (defaults.confirmation_policy !== undefined) request.confirmation_policy = defaults.confirmation_policy
  if (defaults.security_analyzer !== undefined) request.security_analyzer = defaults.security_analyzer
  if (body.conversation_id !== undefined) request.conversation_id = body.conversation_id
  return request
}

/** Splits a recording into its first message and the rest. */
function playedOf({ replay_json }: InitSessionRequest): Readable | null {
  if (replay_json === null || replay_json === '') return null
  const read = readReplay(replay_json)
  if ('file' in read) return recordingOf(read.file)
  throw new Error('a replay_json that its schema accepted holds no recording')
}

/** Names of the tools that a recording calls. */
const calledIn = ({ recording }: Readable): ReadonlySet<string> =>
  new Set(recording.turns.flatMap((turn) => (turn.by === 'agent' ? turn.calls.map(({ name }) => name) : [])))

/** The repository of a microagent counts when the request names none. Source: conversation-service.md 1.1. */
function repositoryOf({
  repository,
  git_provider,
  selected_branch,
  create_microagent,
  suggested_task,
}: InitSessionRequest) {
  const name = repository || create_microagent?.repo
  if (!name) return null
  return {
    name,
    provider: git_provider ?? create_microagent?.git_provider ?? suggested_task?.git_provider ?? null,
    branch: selected_branch || null,
  }
}

function triggerOf({ suggested_task, create_microagent }: InitSessionRequest): ConversationTrigger | null {
  if (suggested_task !== null) return 'suggested_task'
  return create_microagent === null ? null : 'microagent_management'
}

/** A task's prompt takes precedence over a message. Without text and image the agent waits for input. Source: conversation-service.md 1.2. */
function firstMessage(body: InitSessionRequest): { content: (TextContent | ImageContent)[] } | null {
  const content: (TextContent | ImageContent)[] = []
  const { suggested_task: task } = body
  const text = task === null ? (body.initial_user_msg ?? '') : taskPrompt(task, body.git_provider)
  if (text !== '') content.push({ type: 'text', text, cache_prompt: false })
  const image_urls = body.image_urls ?? []
  if (image_urls.length > 0) content.push({ type: 'image', image_urls, cache_prompt: false })
  return content.length === 0 ? null : { content }
}
