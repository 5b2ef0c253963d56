/** Definition of a sub-agent, from a file or a client. Source: agent-server-wire.md 5.14. */
import { z } from 'zod'
import { Condenser } from './condenser.ts'
import { HookConfig } from './hooks.ts'
import { laxInt, laxNumber } from './lax.ts'
import { MCPServers } from './mcp.ts'
import { list, map } from './lists.ts'

const maybeText = () => z.string().nullable().default(null)
const texts = () => list(z.string()).default([])

export const AgentDefinition = z.object({
  name: z.string(),
  description: z.string().default(''),
  /** `inherit`, or the name of a profile or model. */
  model: z.string().default('inherit'),
  color: maybeText(),
  tools: texts(),
  skills: texts(),
  system_prompt: z.string().default(''),
  source: maybeText(),
  level: z.enum(['project', 'user', 'builtin', 'plugin', 'programmatic']).nullable().default(null),
  when_to_use_examples: texts(),
  hooks: HookConfig.nullable().default(null),
  /** Null: the parent's mode. Otherwise always_confirm, never_confirm or confirm_risky. */
  permission_mode: maybeText(),
  max_iteration_per_run: laxInt({ gt: 0 }).nullable().default(null),
  /** US dollars. */
  max_budget_per_run: laxNumber({ gt: 0 }).nullable().default(null),
  mcp_config: MCPServers.nullable().default(null),
  profile_store_dir: maybeText(),
  condenser: Condenser.nullable().default(null),
  metadata: map(z.unknown()).default({}),
})
export type AgentDefinition = z.infer<typeof AgentDefinition>
