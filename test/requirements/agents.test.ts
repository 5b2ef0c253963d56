import { AgentBase } from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectDefaults, expectRefused, expectRequired, expectTypes } from './fields.ts'

const native = { kind: 'Agent', llm: { model: 'm' } }
const acp = { kind: 'ACPAgent', acp_command: ['agent', 'acp'] }
const both = [native, acp]

verifies(
  ['seed.agent.kind', 'seed.agent.native.kind', 'seed.agent.acp.kind', 'seed.agent.native.llm', 'seed.agent.acp.llm'],
  '`kind` selects one of two agents, and an agent has a model',
  () => {
    for (const agent of both) {
      expect(AgentBase.parse({ ...agent, llm: { model: 'x' } })).toMatchObject({
        kind: agent.kind,
        llm: { model: 'x' },
      })
      expectRefused(AgentBase, agent, 'llm', 'text', 5)
    }
    expectRefused(AgentBase, {}, 'kind', 'Robot', 5, null)
  },
)

verifies(
  ['seed.agent.native.tools', 'seed.agent.acp.tools', 'seed.agent.native.mcp_config', 'seed.agent.acp.mcp_config'],
  'tools of an agent are entries of name and params, MCP servers a map',
  () => {
    const tools = [
      { name: 'TerminalTool', params: { shell: 'bash' } },
      { name: 'FileEditorTool', params: {} },
    ]
    const mcp_config = { files: { command: 'files-mcp', args: ['--root', '/w'] } }
    for (const agent of both) {
      expect(AgentBase.parse({ ...agent, tools, mcp_config })).toMatchObject({ tools, mcp_config })
      expectRefused(AgentBase, agent, 'tools', 'text', ['terminal'], [{ params: {} }])
      expectRefused(AgentBase, agent, 'mcp_config', 'text', ['files'])
    }
  },
)

verifies(
  [
    'seed.agent.acp.filter_tools_regex.type',
    'seed.agent.acp.include_default_tools',
    'seed.agent.acp.system_prompt.type',
    'seed.agent.acp.system_prompt_filename.type',
    'seed.agent.acp.system_prompt_filename.default',
    'seed.agent.acp.security_policy_filename.type',
    'seed.agent.acp.security_policy_filename.default',
    'seed.agent.acp.system_prompt_kwargs',
    'seed.agent.acp.tool_concurrency_limit.type',
    'seed.agent.acp.tool_concurrency_limit.minimum',
    'seed.agent.acp.tool_concurrency_limit.default',
  ],
  'members that both kinds of agent share have their types and defaults',
  () => {
    for (const agent of both) {
      expectTypes(AgentBase, agent, {
        filter_tools_regex: 'string or null',
        include_default_tools: 'strings',
        system_prompt: 'string or null',
        system_prompt_filename: 'string',
        system_prompt_kwargs: 'object',
        tool_concurrency_limit: 'integer',
      })
      expect(AgentBase.parse({ ...agent, security_policy_filename: 'own.j2' })).toMatchObject({
        security_policy_filename: 'own.j2',
      })
      expectRefused(AgentBase, agent, 'security_policy_filename', 5, [])
      expectDefaults(AgentBase, agent, {
        system_prompt_filename: 'system_prompt.j2',
        security_policy_filename: 'security_policy.j2',
        tool_concurrency_limit: 1,
      })
      expectRefused(AgentBase, agent, 'tool_concurrency_limit', 0, -1)
    }
  },
)

verifies(
  'seed.agent.acp.system_prompt.exclusive',
  'an agent with a system prompt and another prompt file is refused',
  () => {
    for (const agent of both) {
      expectRefused(AgentBase, { ...agent, system_prompt: 'Be kind.' }, 'system_prompt_filename', 'other.j2')
      expect(AgentBase.parse({ ...agent, system_prompt: 'Be kind.' }).system_prompt).toBe('Be kind.')
    }
  },
)

verifies(
  [
    'seed.agent.acp.agent_context.type',
    'seed.agent.acp.agent_context.system_message_suffix',
    'seed.agent.acp.agent_context.user_message_prefix',
  ],
  'an agent context has skills and additions to messages',
  () => {
    const agent_context = { system_message_suffix: 'End.', user_message_prefix: 'Begin.' }
    for (const agent of both) {
      expect(AgentBase.parse({ ...agent, agent_context })).toMatchObject({ agent_context })
      expect(AgentBase.parse({ ...agent, agent_context: null }).agent_context).toBeNull()
      expectRefused(AgentBase, agent, 'agent_context', 'text', { system_message_suffix: 5 })
    }
  },
)

verifies(
  [
    'seed.agent.acp.condenser.type',
    'seed.agent.acp.condenser.summarizing',
    'seed.agent.acp.critic.type',
    'seed.agent.acp.critic.finished',
    'seed.agent.acp.critic.all_actions',
  ],
  'an agent may have a condenser and a critic',
  () => {
    const condenser = { kind: 'LLMSummarizingCondenser', keep_first: 3, max_size: 100, llm: { model: 'm' } }
    const critic = { kind: 'AgentFinishedCritic', mode: 'all_actions' }
    for (const agent of both) {
      expect(AgentBase.parse({ ...agent, condenser, critic })).toMatchObject({ condenser, critic })
      expect(AgentBase.parse({ ...agent, condenser: null, critic: null })).toMatchObject({
        condenser: null,
        critic: null,
      })
      expectRefused(AgentBase, agent, 'condenser', 'text', { kind: 'Press' })
      expectRefused(AgentBase, agent, 'critic', 'text', { kind: 'Uncle' }, { ...critic, mode: 'sometimes' })
    }
  },
)

describe('ACPAgent', () => {
  verifies(
    ['seed.agent.acp.acp_command.required', 'seed.agent.acp.acp_command.type'],
    'an ACPAgent requires a command, which is a list of strings',
    () => {
      expectRequired(AgentBase, acp, 'acp_command')
      expectTypes(AgentBase, { kind: 'ACPAgent' }, { acp_command: 'strings' })
    },
  )
  verifies(
    [
      'seed.agent.acp.acp_server.type',
      'seed.agent.acp.acp_args',
      'seed.agent.acp.acp_session_mode.type',
      'seed.agent.acp.acp_prompt_timeout.type',
      'seed.agent.acp.acp_startup_timeout.type',
      'seed.agent.acp.acp_model.type',
      'seed.agent.acp.acp_resume_session_id.type',
      'seed.agent.acp.acp_isolate_data_dir.type',
    ],
    'the members of an ACPAgent have their types',
    () => {
      expectTypes(AgentBase, acp, {
        acp_server: 'string or null',
        acp_args: 'strings',
        acp_session_mode: 'string or null',
        acp_prompt_timeout: 'number',
        acp_startup_timeout: 'number',
        acp_model: 'string or null',
        acp_isolate_data_dir: 'boolean',
      })
      for (const acp_resume_session_id of ['session-1', null]) {
        expect(AgentBase.parse({ ...acp, acp_resume_session_id })).toMatchObject({ acp_resume_session_id })
      }
      expectRefused(AgentBase, acp, 'acp_resume_session_id', 5, [])
    },
  )
  verifies(
    [
      'seed.agent.acp.acp_prompt_timeout.default',
      'seed.agent.acp.acp_startup_timeout.default',
      'seed.agent.acp.acp_isolate_data_dir.default',
    ],
    'an ACPAgent waits 1800 and 90 seconds and uses the shared home by default',
    () =>
      expectDefaults(AgentBase, acp, {
        acp_prompt_timeout: 1800,
        acp_startup_timeout: 90,
        acp_isolate_data_dir: false,
      }),
  )
  verifies(
    ['seed.agent.acp.acp_file_secrets.type', 'seed.agent.acp.acp_file_secrets.default'],
    'an ACPAgent has the credential files of the built-in providers by default',
    () => {
      const own = [{ secret_name: 'A', filename: 'a.json', env_var: 'A_HOME', subdir: 'a' }]
      expect(AgentBase.parse({ ...acp, acp_file_secrets: own })).toMatchObject({ acp_file_secrets: own })
      expectRefused(AgentBase, acp, 'acp_file_secrets', 'text', ['a'], [{ filename: 'a.json' }])
      const { acp_file_secrets } = AgentBase.parse(acp) as { acp_file_secrets: { secret_name: string }[] }
      expect(acp_file_secrets.map(({ secret_name }) => secret_name)).toContain('CODEX_AUTH_JSON')
    },
  )
})
