/** Bodies of the endpoints that steer a conversation. Source: agent-server-wire.md 1.2 and 1.5. */
import { z } from 'zod'
import { laxInt } from './lax.ts'
import { LLM } from './llm.ts'
import { RequestedSecrets } from './secrets.ts'

export const StartGoalRequest = z.object({
  objective: z.string(),
  /** Decisions of the goal judge after which the goal ends, reached or not. */
  max_iterations: laxInt({ ge: 1 }).default(10),
})
export type StartGoalRequest = z.infer<typeof StartGoalRequest>

export const SwitchLlmRequest = z.object({ llm: LLM })
/** Secrets may be encrypted, in the form that this server returned. */
export type SwitchLlmRequest = z.infer<typeof SwitchLlmRequest>

export const SwitchProfileRequest = z.object({ profile_name: z.string() })
export type SwitchProfileRequest = z.infer<typeof SwitchProfileRequest>

export const SwitchAcpModelRequest = z.object({ model: z.string() })
export type SwitchAcpModelRequest = z.infer<typeof SwitchAcpModelRequest>

export const LoadPluginRequest = z.object({ plugin_ref: z.string() })
export type LoadPluginRequest = z.infer<typeof LoadPluginRequest>

export const UpdateSecretsRequest = z.object({ secrets: RequestedSecrets })
/** Plain text is a static secret, and so is `{"value": …}`. */
export type UpdateSecretsRequest = z.infer<typeof UpdateSecretsRequest>
