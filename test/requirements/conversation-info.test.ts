import {
  ACPModelInfo,
  ClientToolSpec,
  ConversationExecutionStatus,
  ConversationInfo,
  LaunchedAgentProfile,
} from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectDefaults, expectRefused, expectRequired, expectTypes } from './fields.ts'

const id = '0f8fad5b-d9cb-469f-a165-70867728950e'
const record = {
  id,
  workspace: { kind: 'LocalWorkspace', working_dir: '/w' },
  agent: { kind: 'Agent', llm: { model: 'm' } },
}

describe('ConversationInfo', () => {
  verifies(
    [
      'seed.conversation-info.id.required',
      'seed.conversation-info.workspace.required',
      'seed.conversation-info.agent.required',
    ],
    'id, workspace and agent are the required members of a ConversationInfo',
    () => expectRequired(ConversationInfo, record, 'id', 'workspace', 'agent'),
  )

  verifies(
    [
      'seed.conversation-info.persistence_dir.type',
      'seed.conversation-info.max_iterations.type',
      'seed.conversation-info.stuck_detection.type',
      'seed.conversation-info.activated_knowledge_skills.type',
      'seed.conversation-info.invoked_skills.type',
      'seed.conversation-info.blocked_actions.type',
      'seed.conversation-info.blocked_messages.type',
      'seed.conversation-info.last_user_message_id.type',
      'seed.conversation-info.leaf_event_id.type',
      'seed.conversation-info.agent_state.type',
      'seed.conversation-info.title.type',
      'seed.conversation-info.created_at.type',
      'seed.conversation-info.updated_at.type',
      'seed.conversation-info.forked_from_conversation_id.type',
      'seed.conversation-info.forked_from_event_id.type',
      'seed.conversation-info.parent_conversation_id.type',
      'seed.conversation-info.sub_conversation_ids.type',
      'seed.conversation-info.tags.type',
      'seed.conversation-info.current_model_id.type',
      'seed.conversation-info.supports_runtime_model_switch.type',
      'seed.conversation-info.id.type',
    ],
    'simple members of a ConversationInfo accept their type and nothing else',
    () => {
      const { id: _, ...withoutId } = record
      expectTypes(ConversationInfo, withoutId, { id: 'uuid' })
      expectTypes(ConversationInfo, record, {
        persistence_dir: 'string or null',
        max_iterations: 'integer',
        stuck_detection: 'boolean',
        activated_knowledge_skills: 'strings',
        invoked_skills: 'strings',
        blocked_actions: 'map to strings',
        blocked_messages: 'map to strings',
        last_user_message_id: 'string or null',
        leaf_event_id: 'string or null',
        agent_state: 'object',
        title: 'string or null',
        created_at: 'date-time',
        updated_at: 'date-time',
        forked_from_conversation_id: 'uuid or null',
        forked_from_event_id: 'string or null',
        parent_conversation_id: 'uuid or null',
        sub_conversation_ids: 'uuids',
        tags: 'map to strings',
        current_model_id: 'string or null',
        supports_runtime_model_switch: 'boolean',
      })
    },
  )

  verifies(
    [
      'seed.conversation-info.workspace.type',
      'seed.conversation-info.agent.type',
      'seed.conversation-info.confirmation_policy.type',
      'seed.conversation-info.security_analyzer.type',
      'seed.conversation-info.hook_config.type',
      'seed.conversation-info.stats.type',
      'seed.conversation-info.secret_registry.type',
      'seed.conversation-info.metrics.type',
      'seed.conversation-info.available_models.type',
      'seed.conversation-info.launched_agent_profile.type',
      'seed.conversation-info.client_tools.type',
    ],
    'members of a ConversationInfo that hold records accept those records and nothing else',
    () => {
      const values = {
        workspace: { kind: 'RemoteWorkspace', working_dir: '/w', host: 'http://h' },
        agent: { kind: 'ACPAgent', acp_command: ['a'] },
        confirmation_policy: { kind: 'AlwaysConfirm' },
        security_analyzer: { kind: 'LLMSecurityAnalyzer' },
        hook_config: { stop: [{ hooks: [{ command: 'true' }] }] },
        stats: { usage_to_metrics: { agent: { accumulated_cost: 1 } } },
        secret_registry: { secret_sources: { TOKEN: { kind: 'StaticSecret', value: 'v' } } },
        metrics: { accumulated_cost: 2 },
        available_models: [{ model_id: 'default' }],
        launched_agent_profile: { agent_profile_id: id, revision: 3 },
        client_tools: [{ name: 'n', description: 'd' }],
      }
      expect(ConversationInfo.parse({ ...record, ...values })).toMatchObject(values)
      for (const name of Object.keys(values)) expectRefused(ConversationInfo, record, name, 'text', 5)
      const empty = { security_analyzer: null, hook_config: null, metrics: null, launched_agent_profile: null }
      expect(ConversationInfo.parse({ ...record, ...empty })).toMatchObject(empty)
      expectRefused(ConversationInfo, record, 'workspace', { kind: 'Elsewhere', working_dir: '/w' })
      expectRefused(ConversationInfo, record, 'agent', { kind: 'Nobody' }, null)
      expectRefused(ConversationInfo, record, 'security_analyzer', { kind: 'Nobody' })
    },
  )

  verifies(
    [
      'seed.conversation-info.persistence_dir.default',
      'seed.conversation-info.max_iterations.default',
      'seed.conversation-info.stuck_detection.default',
      'seed.conversation-info.execution_status.default',
      'seed.conversation-info.confirmation_policy.default',
      'seed.conversation-info.supports_runtime_model_switch.default',
      'seed.service.omitted-default',
    ],
    'an omitted member of a ConversationInfo has its default',
    () =>
      expectDefaults(ConversationInfo, record, {
        persistence_dir: 'workspace/conversations',
        max_iterations: 500,
        stuck_detection: true,
        execution_status: 'idle',
        confirmation_policy: { kind: 'NeverConfirm' },
        supports_runtime_model_switch: false,
      }),
  )

  verifies('seed.conversation-info.max_iterations.minimum', 'max_iterations of a ConversationInfo is above 0', () => {
    expectRefused(ConversationInfo, record, 'max_iterations', 0, -1)
    expect(ConversationInfo.parse({ ...record, max_iterations: 1 }).max_iterations).toBe(1)
  })

  verifies(
    ['seed.conversation-info.tags.keys', 'seed.conversation-info.tags.values', 'seed.limits.tags'],
    'tags have lowercase alphanumeric keys and values of up to 256 characters',
    () => {
      const tags = { abc123: 'x'.repeat(256), empty: '', sign: 'Ünïcode & spaces' }
      expect(ConversationInfo.parse({ ...record, tags }).tags).toEqual(tags)
      expectRefused(ConversationInfo, record, 'tags', { Upper: '' }, { 'a-b': '' }, { a_b: '' }, { '': '' }, { ä: '' })
      expectRefused(ConversationInfo, record, 'tags', { long: 'x'.repeat(257) })
    },
  )
})

verifies(
  [
    'seed.execution-status.idle',
    'seed.execution-status.running',
    'seed.execution-status.paused',
    'seed.execution-status.waiting_for_confirmation',
    'seed.execution-status.finished',
    'seed.execution-status.error',
    'seed.execution-status.stuck',
    'seed.execution-status.deleting',
    'seed.execution-status.closed',
    'seed.conversation-info.execution_status.type',
  ],
  'the execution status is one of eight strings',
  () => {
    const statuses = ['idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck', 'deleting']
    for (const execution_status of statuses) {
      expect(ConversationInfo.parse({ ...record, execution_status }).execution_status).toBe(execution_status)
    }
    expectRefused(ConversationInfo, record, 'execution_status', 'IDLE', 'stopped', '', null, 1)
    expect(ConversationExecutionStatus.options.toSorted()).toEqual(statuses.toSorted())
  },
)

describe('ACPModelInfo', () => {
  verifies(
    [
      'seed.acp-model-info.model_id.required',
      'seed.acp-model-info.model_id.type',
      'seed.acp-model-info.name.type',
      'seed.acp-model-info.description.type',
    ],
    'an ACPModelInfo has a model_id, and may have a name and a description',
    () => {
      expectRequired(ACPModelInfo, { model_id: 'auto' }, 'model_id')
      expectRefused(ACPModelInfo, {}, 'model_id', 5, null)
      expectTypes(ACPModelInfo, { model_id: 'auto' }, { name: 'string or null', description: 'string or null' })
    },
  )
})

describe('LaunchedAgentProfile', () => {
  verifies(
    [
      'seed.launched-agent-profile.agent_profile_id.required',
      'seed.launched-agent-profile.agent_profile_id.type',
      'seed.launched-agent-profile.revision.required',
      'seed.launched-agent-profile.revision.type',
      'seed.launched-agent-profile.revision.minimum',
      'seed.limits.profile-revision',
    ],
    'a LaunchedAgentProfile has the id of a profile and a revision of at least 0',
    () => {
      expectRequired(LaunchedAgentProfile, { agent_profile_id: id, revision: 0 }, 'agent_profile_id', 'revision')
      expectTypes(LaunchedAgentProfile, { revision: 1 }, { agent_profile_id: 'uuid' })
      expectTypes(LaunchedAgentProfile, { agent_profile_id: id }, { revision: 'integer' })
      expectRefused(LaunchedAgentProfile, { agent_profile_id: id }, 'revision', -1)
    },
  )
})

describe('ClientToolSpec', () => {
  const spec = { name: 'open_tab', description: 'opens a tab' }
  verifies(
    ['seed.client-tool.name.required', 'seed.client-tool.description.required'],
    'name and description of a client tool are required strings',
    () => {
      expectRequired(ClientToolSpec, spec, 'name', 'description')
      expectRefused(ClientToolSpec, spec, 'name', 5, null)
      expectRefused(ClientToolSpec, spec, 'description', 5, null)
    },
  )
  verifies('seed.client-tool.parameters.type', 'parameters of a client tool are an object schema', () => {
    const parameters = { type: 'object', properties: { url: { type: 'string' } } }
    expect(ClientToolSpec.parse({ ...spec, parameters }).parameters).toEqual(parameters)
    expectRefused(ClientToolSpec, spec, 'parameters', { type: 'array' }, 'object', 5)
  })
  verifies('seed.client-tool.annotations.type', 'annotations of a client tool are an object or null', () => {
    expect(ClientToolSpec.parse({ ...spec, annotations: { readOnlyHint: true } }).annotations?.readOnlyHint).toBe(true)
    expect(ClientToolSpec.parse({ ...spec, annotations: null }).annotations).toBeNull()
    expectRefused(ClientToolSpec, spec, 'annotations', 'text', 5)
  })
})
