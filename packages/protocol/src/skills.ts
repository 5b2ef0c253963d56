/** Skills of an agent and their context. Source: interface.md, ACPAgent; agent-server-wire.md 5.8. */
import { z } from 'zod'
import { laxBoolean } from './lax.ts'
import { laxDateTime } from './lax-text.ts'
import { MCPServers } from './mcp.ts'
import { SecretSource } from './secrets.ts'
import { tagUnion, textOr } from './unions.ts'
import { list, LIST_LIMITS, map } from './lists.ts'

const maybeText = () => z.string().nullable().default(null)

const TaggedTrigger = tagUnion('type', {
  keyword: z.object({ type: z.literal('keyword'), keywords: list(z.string()) }),
  task: z.object({ type: z.literal('task'), triggers: list(z.string()) }),
  path: z.object({ type: z.literal('path'), paths: list(z.string()) }),
})

/**
 * The trigger that activates a skill. A bare list of words, the older spelling of the conversation service, means
 * keywords.
 */
export const SkillTrigger = z.preprocess(
  (value) => (Array.isArray(value) ? { type: 'keyword', keywords: value } : value),
  TaggedTrigger,
) as unknown as typeof TaggedTrigger
export type SkillTrigger = z.infer<typeof SkillTrigger>

export const SkillResources = z.object({
  skill_root: z.string(),
  scripts: list(z.string(), { max: LIST_LIMITS.recorded }).default([]),
  references: list(z.string(), { max: LIST_LIMITS.recorded }).default([]),
  assets: list(z.string(), { max: LIST_LIMITS.recorded }).default([]),
})
export type SkillResources = z.infer<typeof SkillResources>

export const Skill = z.object({
  name: z.string(),
  content: z.string(),
  /** Null: never injected automatically. */
  trigger: SkillTrigger.nullable().default(null),
  /** Path or identifier. */
  source: maybeText(),
  mcp_tools: MCPServers.nullable().default(null),
  inputs: list(z.object({ name: z.string(), description: z.string() })).default([]),
  is_agentskills_format: laxBoolean().default(false),
  version: z.string().default('1.0.0'),
  description: maybeText(),
  license: maybeText(),
  compatibility: maybeText(),
  metadata: map(z.string()).nullable().default(null),
  allowed_tools: list(z.string()).nullable().default(null),
  /** Hides it from the model's catalogue. */
  disable_model_invocation: laxBoolean().default(false),
  resources: SkillResources.nullable().default(null),
})
export type Skill = z.infer<typeof Skill>

export const MarketplaceRegistration = z.object({
  name: z.string(),
  source: z.string(),
  ref: maybeText(),
  repo_path: maybeText(),
  auto_load: z.union([z.boolean(), list(z.string())]).default(false),
})
export type MarketplaceRegistration = z.infer<typeof MarketplaceRegistration>

export const AgentContext = z.object({
  skills: list(Skill, { max: LIST_LIMITS.recorded }).default([]),
  system_message_suffix: maybeText(),
  /** Prefix of each user message; an older member of the conversation service, kept when given. */
  user_message_prefix: z.string().nullable().optional(),
  /** Appended to each user message. */
  user_message_suffix: maybeText(),
  load_user_skills: laxBoolean().default(false),
  load_public_skills: laxBoolean().default(false),
  marketplace_path: z.string().nullable().default('marketplaces/default.json'),
  registered_marketplaces: list(MarketplaceRegistration).default([]),
  load_project_skills: laxBoolean().default(false),
  load_memory: laxBoolean().default(false),
  /** Accepted in requests, never returned. */
  memory_context: maybeText(),
  disabled_skills: list(z.string()).default([]),
  secrets: map(textOr(SecretSource)).nullable().default(null),
  /** Absent: the time when the agent is created; null: none. Text that is no date is kept. */
  current_datetime: z.union([laxDateTime(), z.string()]).nullable().optional(),
})
export type AgentContext = z.infer<typeof AgentContext>
export type AgentContextInput = z.input<typeof AgentContext>
