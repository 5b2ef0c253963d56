/** The agent of a conversation: native, or an ACP subprocess. Source: interface.md, AgentBase; agent-server-wire.md 5.5. */
import { z } from 'zod'
import { Condenser } from './condenser.ts'
import { Critic } from './critic.ts'
import { laxBoolean, laxInt, laxNumber } from './lax.ts'
import { secretText, text, valueError } from './lax-text.ts'
import { LLM } from './llm.ts'
import { MCPServers } from './mcp.ts'
import { AgentContext } from './skills.ts'
import { Tool } from './tool.ts'
import { kindUnion } from './unions.ts'
import { list, map } from './lists.ts'

const DEFAULT_PROMPT = 'system_prompt.j2'

const agentFields = {
  /** Empty: only the default tools. */
  tools: list(Tool).default([]),
  mcp_config: MCPServers.default({}),
  /** Applied to the names of all tools at the end. */
  filter_tools_regex: z.string().nullable().default(null),
  agent_context: AgentContext.nullable().default(null),
  /** Used verbatim. */
  system_prompt: z.string().nullable().default(null),
  system_prompt_filename: z.string().default(DEFAULT_PROMPT),
  /** The default names the built-in policy; empty: none. */
  security_policy_filename: z
    .string()
    .nullable()
    .default('security_policy.j2')
    .transform((name) => name ?? ''),
  system_prompt_kwargs: map(z.unknown()).default({}),
  /** Null: never shortened. */
  condenser: Condenser.nullable().default(null),
  critic: Critic.nullable().default(null),
  tool_concurrency_limit: laxInt({ ge: 1 }).default(1),
}

const hasOnePrompt = (agent: { system_prompt: string | null; system_prompt_filename: string }) =>
  agent.system_prompt === null || agent.system_prompt_filename === DEFAULT_PROMPT
const twoPrompts = valueError('system_prompt and a non-default system_prompt_filename are mutually exclusive')

export const Agent = z
  .object({
    kind: z.literal('Agent').default('Agent'),
    llm: LLM,
    ...agentFields,
    include_default_tools: list(z.string()).default(['FinishTool', 'ThinkTool']),
  })
  .refine(hasOnePrompt, twoPrompts)
/** The native agent. */
export type Agent = z.infer<typeof Agent>
export type AgentInput = z.input<typeof Agent>

export const ACPFileSecretSpec = z.object({
  /** Secret of the conversation that holds the file's content. */
  secret_name: text({ min: 1 }),
  filename: text({ min: 1 }),
  /** Variable that points at the file or its directory. */
  env_var: text({ min: 1 }),
  /** Directory under the credential root. */
  subdir: text({ min: 1 }),
  env_points_to: z.enum(['dir', 'file']).default('file'),
  warn_if_unset: list(z.string()).default([]),
})
export type ACPFileSecretSpec = z.infer<typeof ACPFileSecretSpec>

/** Returns the credential files of the known ACP providers. */
export const builtInFileSecrets = (): ACPFileSecretSpec[] => [
  {
    secret_name: 'CODEX_AUTH_JSON',
    filename: 'auth.json',
    env_var: 'CODEX_HOME',
    subdir: 'codex',
    env_points_to: 'dir',
    warn_if_unset: [],
  },
  {
    secret_name: 'GOOGLE_APPLICATION_CREDENTIALS_JSON',
    filename: 'gcloud-credentials.json',
    env_var: 'GOOGLE_APPLICATION_CREDENTIALS',
    subdir: 'gemini-cli',
    env_points_to: 'file',
    warn_if_unset: ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  },
]

export const ACPAgent = z
  .object({
    kind: z.literal('ACPAgent').default('ACPAgent'),
    /** A placeholder: the subprocess has its own model. */
    llm: LLM.prefault({ model: 'acp-managed', usage_id: 'acp-managed' }),
    ...agentFields,
    include_default_tools: list(z.string()).default([]),
    /** Program and arguments of the ACP server. */
    acp_command: list(z.string()),
    /** Informational: `acp_command` is started. */
    acp_server: z.string().nullable().default(null),
    acp_args: list(z.string()).default([]),
    /** Null: chosen by provider. */
    acp_session_mode: z.string().nullable().default(null),
    /** Seconds of silence; each update restarts them. */
    acp_prompt_timeout: laxNumber().default(1800),
    /** Seconds for start, handshake and session together. */
    acp_startup_timeout: laxNumber().default(90),
    acp_model: z.string().nullable().default(null),
    /** Secret; overrides the stored session id. */
    acp_resume_session_id: secretText(),
    acp_file_secrets: list(ACPFileSecretSpec).default(builtInFileSecrets),
    /** Each conversation gets a separate data directory. */
    acp_isolate_data_dir: laxBoolean().default(false),
  })
  .refine(hasOnePrompt, twoPrompts)
/** An agent that runs as another program. */
export type ACPAgent = z.infer<typeof ACPAgent>
export type ACPAgentInput = z.input<typeof ACPAgent>

const variants = { Agent, ACPAgent }

/** An agent in a record: `kind` is required. */
export const AgentBase = kindUnion('AgentBase', variants)
export type AgentBase = z.infer<typeof AgentBase>
export type AgentBaseInput = z.input<typeof AgentBase>

/** An agent in a start request: without `kind`, one that has an `llm` is native. Source: agent-server-wire.md 1.4. */
export const RequestedAgent = kindUnion('AgentBase', variants, (value) => ('llm' in value ? 'Agent' : undefined))
