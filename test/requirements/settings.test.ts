import {
  CreateMicroagent,
  CreateSecretRequest,
  InitSessionRequest,
  MCPConfig,
  Settings,
  SettingsDefaults,
  SuggestedTask,
  UpdateSecretRequest,
} from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectRefused, expectRequired, expectTypes } from './fields.ts'

const mcp_config = {
  sse_servers: [{ url: 'https://a.example/sse', api_key: 'k' }],
  stdio_servers: [{ name: 'files', command: 'files-mcp', args: ['--root', '/w'], env: { A: 'b' } }],
  shttp_servers: [{ url: 'https://b.example/mcp', api_key: 'k' }],
}

describe('Settings', () => {
  verifies('seed.settings.all-optional', 'an empty record is valid', () => expect(Settings.parse({})).toEqual({}))

  verifies(
    [
      'seed.settings.language',
      'seed.settings.agent',
      'seed.settings.max_iterations',
      'seed.settings.security_analyzer',
      'seed.settings.confirmation_mode',
      'seed.settings.llm_model',
      'seed.settings.llm_api_key',
      'seed.settings.llm_base_url',
      'seed.settings.remote_runtime_resource_factor',
      'seed.settings.enable_default_condenser.type',
      'seed.settings.enable_sound_notifications.type',
      'seed.settings.enable_proactive_conversation_starters.type',
      'seed.settings.enable_solvability_analysis.type',
      'seed.settings.user_consents_to_analytics',
      'seed.settings.sandbox_base_container_image',
      'seed.settings.sandbox_runtime_container_image',
      'seed.settings.search_api_key',
      'seed.settings.sandbox_api_key',
      'seed.settings.max_budget_per_task',
      'seed.settings.email',
      'seed.settings.email_verified',
      'seed.settings.git_user_name',
      'seed.settings.git_user_email',
    ],
    'every member of a settings record accepts its type and nothing else',
    () =>
      expectTypes(
        Settings,
        {},
        {
          language: 'string or null',
          agent: 'string or null',
          max_iterations: 'integer or null',
          security_analyzer: 'string or null',
          confirmation_mode: 'boolean or null',
          llm_model: 'string or null',
          llm_api_key: 'string or null',
          llm_base_url: 'string or null',
          remote_runtime_resource_factor: 'integer or null',
          enable_default_condenser: 'boolean',
          enable_sound_notifications: 'boolean',
          enable_proactive_conversation_starters: 'boolean',
          enable_solvability_analysis: 'boolean',
          user_consents_to_analytics: 'boolean or null',
          sandbox_base_container_image: 'string or null',
          sandbox_runtime_container_image: 'string or null',
          search_api_key: 'string or null',
          sandbox_api_key: 'string or null',
          max_budget_per_task: 'number or null',
          email: 'string or null',
          email_verified: 'boolean or null',
          git_user_name: 'string or null',
          git_user_email: 'string or null',
        },
      ),
  )

  verifies(
    [
      'seed.settings.secrets_store',
      'seed.settings.secrets_store.provider_tokens',
      'seed.settings.secrets_store.custom_secrets',
      'seed.settings.mcp_config',
    ],
    'a settings record has two objects of secrets and an MCP configuration',
    () => {
      const secrets_store = { provider_tokens: { github: { token: 't' } }, custom_secrets: { A: { secret: 's' } } }
      expect(Settings.parse({ secrets_store, mcp_config })).toMatchObject({ secrets_store, mcp_config })
      expect(Settings.parse({ mcp_config: null }).mcp_config).toBeNull()
      expectRefused(Settings, {}, 'secrets_store', 'text', { provider_tokens: 'text' }, { custom_secrets: ['A'] })
      expectRefused(Settings, {}, 'mcp_config', 'text', { stdio_servers: 'text' })
    },
  )

  verifies(
    [
      'seed.settings.enable_default_condenser.default',
      'seed.settings.enable_sound_notifications.default',
      'seed.settings.enable_proactive_conversation_starters.default',
      'seed.settings.enable_solvability_analysis.default',
    ],
    'four flags of a settings record have defaults',
    () =>
      expect(SettingsDefaults).toEqual({
        enable_default_condenser: true,
        enable_sound_notifications: false,
        enable_proactive_conversation_starters: true,
        enable_solvability_analysis: true,
      }),
  )
})

verifies(
  [
    'seed.mcp-config.sse_servers',
    'seed.mcp-config.sse_servers.url',
    'seed.mcp-config.sse_servers.api_key',
    'seed.mcp-config.stdio_servers',
    'seed.mcp-config.stdio_servers.name',
    'seed.mcp-config.stdio_servers.command',
    'seed.mcp-config.stdio_servers.args',
    'seed.mcp-config.stdio_servers.env',
    'seed.mcp-config.shttp_servers',
    'seed.mcp-config.shttp_servers.url',
    'seed.mcp-config.shttp_servers.api_key',
  ],
  'an MCP configuration lists servers of three kinds',
  () => {
    expect(MCPConfig.parse(mcp_config)).toMatchObject(mcp_config)
    for (const kind of ['sse_servers', 'shttp_servers']) {
      const url = 'https://a.example'
      expectRefused(MCPConfig, {}, kind, 'text', [{}], [{ url: 5 }], [{ url, api_key: 5 }])
    }
    const server = { name: 'n', command: 'c' }
    expectRefused(MCPConfig, {}, 'stdio_servers', 'text', [{ command: 'c' }], [{ name: 'n' }], [{ ...server, name: 5 }])
    expectRefused(MCPConfig, {}, 'stdio_servers', [{ ...server, command: 5 }], [{ ...server, args: [5] }])
    expectRefused(MCPConfig, {}, 'stdio_servers', [{ ...server, env: { A: 5 } }], [{ ...server, env: ['A'] }])
  },
)

verifies(
  [
    'seed.suggested-task.repo',
    'seed.suggested-task.issue_number',
    'seed.suggested-task.title',
    'seed.create-microagent.repo',
    'seed.create-microagent.title',
  ],
  'a suggested task and a microagent name a repository and a title',
  () => {
    const task = { repo: 'a/b', issue_number: 7, title: 't' }
    expect(SuggestedTask.parse(task)).toMatchObject(task)
    expectRefused(SuggestedTask, task, 'repo', 5, null)
    expectRefused(SuggestedTask, task, 'issue_number', 1.5, 'seven', null)
    expectRefused(SuggestedTask, task, 'title', 5, null)
    expect(CreateMicroagent.parse({ repo: 'a/b', title: 't' })).toMatchObject({ repo: 'a/b', title: 't' })
    expectRefused(CreateMicroagent, { title: 't' }, 'repo', 5, null)
    expectRefused(CreateMicroagent, { repo: 'a/b' }, 'title', 5, [])
  },
)

verifies(
  [
    'seed.endpoint.new-conversation.repository',
    'seed.endpoint.new-conversation.selected_branch',
    'seed.endpoint.new-conversation.initial_user_msg',
    'seed.endpoint.new-conversation.image_urls',
    'seed.endpoint.new-conversation.replay_json',
    'seed.endpoint.new-conversation.suggested_task',
    'seed.endpoint.new-conversation.create_microagent',
    'seed.endpoint.new-conversation.conversation_instructions',
    'seed.endpoint.new-conversation.mcp_config',
  ],
  'the members of New Conversation have their types',
  () => {
    const members = {
      repository: 'owner/name',
      selected_branch: 'main',
      initial_user_msg: 'Hello',
      image_urls: ['https://a.example/1.png'],
      replay_json: '[{"source":"user","action":"message","args":{"content":"Hello"}}]',
      suggested_task: { repo: 'a/b', issue_number: 7, title: 't' },
      create_microagent: { repo: 'a/b', title: 't' },
      conversation_instructions: 'Be brief.',
      mcp_config,
    }
    for (const [name, value] of Object.entries(members)) {
      // A branch needs a repository.
      const rest = name === 'selected_branch' ? { repository: 'owner/name' } : {}
      expect(InitSessionRequest.parse({ ...rest, [name]: value })).toMatchObject({ [name]: value })
      expect(InitSessionRequest.parse({ ...rest, [name]: null })).toMatchObject({ [name]: null })
      expectRefused(InitSessionRequest, rest, name, 5, true, [5])
      if (typeof value !== 'string') expectRefused(InitSessionRequest, rest, name, 'text')
    }
  },
)

verifies(
  [
    'seed.endpoint.new-conversation.git_provider.type',
    'seed.endpoint.new-conversation.git_provider.git_host_1',
    'seed.endpoint.new-conversation.git_provider.git_host_2',
    'seed.endpoint.new-conversation.git_provider.git_host_3',
    'seed.endpoint.new-conversation.git_provider.enterprise_sso',
    'design.start.git_provider.real-names',
  ],
  'a git provider is one of a closed list, and its spelling is kept',
  () => {
    const names = ['git_host_1', 'git_host_2', 'git_host_3', 'enterprise_sso', 'github', 'gitlab', 'bitbucket', null]
    for (const git_provider of names) {
      expect(InitSessionRequest.parse({ git_provider }).git_provider).toBe(git_provider)
    }
    expectRefused(InitSessionRequest, {}, 'git_provider', 'git_host_4', 'sourcehut', '', 1)
  },
)

describe('custom secrets', () => {
  const secret = { name: 'TOKEN', value: 'v', description: 'd' }
  verifies(
    [
      'seed.secret.create.name',
      'seed.secret.create.value',
      'seed.secret.create.description',
      'seed.endpoint.secret-create.body',
    ],
    'creating a secret takes a name, a value and a description',
    () => {
      expectRequired(CreateSecretRequest, secret, 'name', 'value')
      expect(CreateSecretRequest.parse(secret)).toEqual(secret)
      for (const name of Object.keys(secret)) expectRefused(CreateSecretRequest, secret, name, 5, [])
    },
  )
  verifies(
    ['design.secret.name.pattern', 'design.secret.name.length'],
    'the name of a secret has up to 255 letters, digits and underscores and does not begin with a digit',
    () => {
      for (const name of ['A', '_', 'my_TOKEN_2', 'x'.repeat(255)]) {
        expect(CreateSecretRequest.parse({ ...secret, name }).name).toBe(name)
      }
      expectRefused(CreateSecretRequest, secret, 'name', '', '2A', 'A-B', 'A B', 'Ä', 'A\n', 'x'.repeat(256))
    },
  )
  verifies(
    [
      'seed.secret.update.name',
      'seed.secret.update.description',
      'seed.secret.update.no-value',
      'seed.endpoint.secret-update.body',
    ],
    'updating a secret takes a name and a description, and no value',
    () => {
      expectRequired(UpdateSecretRequest, { name: 'TOKEN' }, 'name')
      expectTypes(UpdateSecretRequest, { name: 'TOKEN' }, { description: 'string or null' })
      expectRefused(UpdateSecretRequest, { name: 'TOKEN' }, 'value', 'v', null)
    },
  )
})
