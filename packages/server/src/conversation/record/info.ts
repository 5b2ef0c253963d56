/** Views of a conversation for clients: the record of the conversation service, and the state that sockets begin with. Pure. */
import {
  ACPModelInfo,
  type ConversationId,
  type ConversationInfo,
  type ConversationState,
  type ConversationStats,
  type StoredEvent,
} from '@parley/protocol'
import { z } from 'zod'
import {
  encryptSecrets,
  plainSecrets,
  redact,
  unsealRecord,
  type Cipher,
  type Exposure,
  type Json,
} from '../../secrets/index.ts'
import type { ConversationRow } from '../../storage/index.ts'
import type { Reading } from './reading.ts'
import type { ConversationRecord } from './record.ts'

export type InfoSources = {
  row: Pick<ConversationRow, 'id' | 'created_at' | 'updated_at'>
  record: ConversationRecord
  state: ConversationState
  /** The newest usage records, oldest first. Absent: the lists of the metrics stay empty, and no record has to be read. */
  usage?: readonly StoredEvent[]
  children: readonly ConversationId[]
  /** Set when record or log cannot be read. */
  unreadable?: Reading['unreadable']
}

/** An info of another server as lists show it, like one of this server without `usage`. */
export function withoutUsageLists(info: ConversationInfo): ConversationInfo {
  const shown = Object.entries(info.stats.usage_to_metrics)
  const usage_to_metrics = Object.fromEntries(shown.map(([id, metrics]) => [id, { ...metrics, ...noLists() }]))
  return { ...info, stats: { ...info.stats, usage_to_metrics } }
}

const noLists = () => ({ costs: [], response_latencies: [], token_usages: [] })

/** How the secrets of the record are shown to an authorised reader, the cipher that opens them, and the user of the reader. */
export type SecretsShown = { exposure: Exposure; cipher: Cipher; user: string }

/**
 * ConversationInfo with every member of the interface document, secrets hidden as in REST responses (agent-server-wire.md 5.2)
 * unless the reader requests them. Source: interface.md, SecretRegistry.
 * @throws ParleyError `unavailable` when an exposed secret was encrypted with another key.
 */
export function conversationInfo(
  { row, record, state, usage = [], children, unreadable }: InfoSources,
  shown: SecretsShown | { exposure: 'hidden' } = { exposure: 'hidden' },
): ConversationInfo {
  const info = {
    id: row.id,
    ...shared(record, state),
    stats: stats(state, usage),
    title: record.title,
    metrics: null,
    created_at: row.created_at,
    updated_at: row.updated_at,
    forked_from_conversation_id: record.forked_from_conversation_id,
    forked_from_event_id: record.forked_from_event_id,
    parent_conversation_id: record.parent_conversation_id,
    sub_conversation_ids: [...children],
    tags: record.tags,
    ...acpModels(record, state),
    launched_agent_profile: record.launched_agent_profile,
    agent: withClientTools(record),
    client_tools: record.client_tools,
    ...(unreadable === undefined ? {} : { unreadable: unreadable.message }),
  }
  if (shown.exposure === 'hidden') return redact(info, 'rest') as ConversationInfo
  const { exposure, cipher, user } = shown as SecretsShown
  // An analyzer's secrets are encrypted in the state too.
  const open = unsealRecord(info, cipher) as Json
  return (exposure === 'plain' ? plainSecrets(open) : encryptSecrets(open, cipher.tokensOf(user))) as ConversationInfo
}

/** The models that the session of an ACP agent reports, kept with the state so that they survive a restart (agent-core.md 11.15). */
function acpModels({ agent }: ConversationRecord, { agent_state }: ConversationState) {
  const isAcp = agent.kind === 'ACPAgent'
  const current = agent_state['acp_current_model_id']
  const available = z.array(ACPModelInfo).safeParse(agent_state['acp_available_models'])
  return {
    current_model_id: isAcp && typeof current === 'string' ? current : null,
    available_models: isAcp && available.success ? available.data : [],
    supports_runtime_model_switch: isAcp && agent_state['acp_supports_runtime_model_switch'] === true,
  }
}

/** Lists the client's tools among the agent's own, each with its declaration. Source: agent-server-wire.md 5.6. */
function withClientTools({ agent, client_tools }: ConversationRecord): ConversationRecord['agent'] {
  if (agent.kind !== 'Agent') return agent
  const named = new Set(agent.tools.map(({ name }) => name))
  const added = client_tools
    .filter(({ name }) => !named.has(name))
    .map((spec) => ({ name: spec.name, params: { spec } }))
  return added.length === 0 ? agent : { ...agent, tools: [...agent.tools, ...added] }
}

/** The value of a `full_state` update. Source: agent-server-wire.md 2.4. */
function fullState(id: ConversationId, record: ConversationRecord, state: ConversationState): Record<string, unknown> {
  const value = {
    id,
    agent: withClientTools(record),
    ...shared(record, state),
    activated_path_rules: state.activated_path_rules,
    head_is_empty: state.leaf_event_id === null,
    stats: stats(state, []),
    tags: record.tags,
    // Extensions of this server, present only with a recording, or with a goal.
    ...(state.replay === null || state.replay === undefined ? {} : { replay: state.replay }),
    ...(state.goal === null || state.goal === undefined ? {} : { goal: state.goal }),
  }
  return redact(value, 'socket') as Record<string, unknown>
}

/** The whole state as an item of a watcher. */
export function snapshotOf(id: ConversationId, record: ConversationRecord, state: ConversationState) {
  const { seq, execution_status: status, awaiting_approval: awaited } = state
  const waits = status === 'waiting_for_confirmation' && awaited !== null
  const value = fullState(id, record, state)
  return { kind: 'snapshot' as const, seq, value, ...(waits ? { batch_id: awaited.batch_id } : {}) }
}

/** Members that both APIs show. */
const shared = (record: ConversationRecord, state: ConversationState) => ({
  workspace: record.workspace,
  persistence_dir: record.persistence_dir,
  max_iterations: state.max_iterations ?? record.max_iterations,
  stuck_detection: record.stuck_detection,
  execution_status: state.execution_status,
  confirmation_policy: state.confirmation_policy,
  security_analyzer: state.security_analyzer,
  activated_knowledge_skills: state.activated_knowledge_skills,
  invoked_skills: state.invoked_skills,
  blocked_actions: state.blocked_actions,
  blocked_messages: state.blocked_messages,
  last_user_message_id: state.last_user_message_id,
  leaf_event_id: state.leaf_event_id,
  secret_registry: { secret_sources: record.secrets ?? {} },
  agent_state: state.agent_state,
  hook_config: state.hook_config,
})

function stats(state: ConversationState, usage: readonly StoredEvent[]): ConversationStats {
  const usage_to_metrics: ConversationStats['usage_to_metrics'] = {}
  for (const [id, total] of Object.entries(state.stats)) {
    usage_to_metrics[id] = { ...total, ...noLists() }
  }
  for (const { event } of usage) {
    if (event.kind !== 'UsageRecordedEvent') continue
    const metrics = usage_to_metrics[event.usage_id]
    if (metrics === undefined) continue
    const { model, response_id, latency, tokens } = event
    if (event.cost !== null)
      metrics.costs.push({ model, cost: event.cost, timestamp: Date.parse(`${event.timestamp}Z`) / 1000 })
    metrics.response_latencies.push({ model, latency, response_id })
    metrics.token_usages.push({ ...tokens, model, response_id })
  }
  return { usage_to_metrics }
}
