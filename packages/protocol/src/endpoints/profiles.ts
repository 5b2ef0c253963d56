/** Endpoint rows of LLM profiles and agent profiles. Sources: agent-server-wire.md 1.11, 1.12. */
import { z } from 'zod'
import { laxUuid } from '../lax-text.ts'
import {
  AgentProfile,
  AgentProfileDiagnostics,
  AgentProfileInfo,
  ProfileInfo,
  ProfileName,
  SavedAgentProfile,
  SaveProfileRequest,
} from '../profiles.ts'
import { endpoint } from './endpoint.ts'
import { map } from '../lists.ts'

const Mutation = z.object({ name: z.string(), message: z.string() })
const mutation = (status: number, description: string) => ({ status, schema: Mutation, description })
const params = z.object({ name: ProfileName })
const rename = z.object({ new_name: ProfileName })

const llm = { tag: 'Profiles', auth: 'session_key' } as const
const oneLlm = { ...llm, path: '/api/profiles/{name}', params } as const

export const listProfiles = endpoint({
  operationId: 'listProfiles',
  ...llm,
  method: 'GET',
  path: '/api/profiles',
  description: 'Lists the LLM profiles.',
  ok: {
    status: 200,
    schema: z.object({ profiles: z.array(ProfileInfo), active_profile: z.string().nullable() }),
    description: 'Sorted by name',
  },
  errors: [],
})

export const getProfile = endpoint({
  operationId: 'getProfile',
  ...oneLlm,
  method: 'GET',
  description: 'Returns an LLM profile. Secrets are hidden unless X-Expose-Secrets asks for them.',
  ok: {
    status: 200,
    schema: z.object({ name: z.string(), config: z.record(z.string(), z.unknown()), api_key_set: z.boolean() }),
    description: 'The profile',
  },
  errors: [400, 403, 404],
})

export const saveProfile = endpoint({
  operationId: 'saveProfile',
  ...oneLlm,
  method: 'POST',
  description: 'Creates or replaces an LLM profile.',
  body: SaveProfileRequest,
  namesAddresses: true,
  ok: mutation(201, 'Saved'),
  errors: [409],
})

export const deleteProfile = endpoint({
  operationId: 'deleteProfile',
  ...oneLlm,
  method: 'DELETE',
  description: 'Deletes an LLM profile that nothing refers to.',
  ok: mutation(200, 'Deleted, or it did not exist'),
  errors: [409],
})

export const validateProfile = endpoint({
  operationId: 'validateProfile',
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/validate',
  description:
    'Checks an LLM configuration by requesting one token from the model. A masked `api_key` stands for that of the settings, if they have the same provider and address.',
  /** Invalid values are reported in the answer, not as an error. */
  body: z.object({ llm: map(z.unknown()) }),
  ok: {
    status: 200,
    schema: z.object({
      valid: z.boolean(),
      error: z.object({ type: z.string(), message: z.string() }).nullable(),
      /** Present when the model did not answer, so that the configuration may work later: unreachable, too slow or overloaded. */
      unconfirmed: z.object({ type: z.string(), message: z.string() }).optional(),
    }),
    description: 'The result of the check',
  },
  errors: [409],
})

export const renameProfile = endpoint({
  operationId: 'renameProfile',
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/rename',
  description: 'Renames an LLM profile and updates what refers to it.',
  body: rename,
  ok: mutation(200, 'Renamed'),
  errors: [404, 409],
})

export const activateProfile = endpoint({
  operationId: 'activateProfile',
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/activate',
  description: 'Copies an LLM profile into the settings.',
  ok: {
    status: 200,
    schema: Mutation.extend({ llm_applied: z.boolean() }),
    description: 'New conversations use it',
  },
  errors: [404],
})

const agent = { tag: 'Agent profiles', auth: 'session_key' } as const
const oneAgent = { ...agent, path: '/api/agent-profiles/{name}', params } as const

export const listAgentProfiles = endpoint({
  operationId: 'listAgentProfiles',
  ...agent,
  method: 'GET',
  path: '/api/agent-profiles',
  description: 'Lists the agent profiles; the first request creates the profile `default` from the settings.',
  ok: {
    status: 200,
    schema: z.object({ profiles: z.array(AgentProfileInfo), active_agent_profile_id: z.string().nullable() }),
    description: 'Sorted by name',
  },
  errors: [],
})

export const getAgentProfile = endpoint({
  operationId: 'getAgentProfile',
  ...oneAgent,
  method: 'GET',
  description: 'Returns an agent profile.',
  ok: { status: 200, schema: z.object({ name: z.string(), profile: AgentProfile }), description: 'The profile' },
  errors: [404],
})

export const saveAgentProfile = endpoint({
  operationId: 'saveAgentProfile',
  ...oneAgent,
  method: 'POST',
  description: 'Creates an agent profile, or saves its next revision.',
  body: SavedAgentProfile,
  namesAddresses: true,
  ok: mutation(201, 'Saved'),
  errors: [409],
})

export const deleteAgentProfile = endpoint({
  operationId: 'deleteAgentProfile',
  ...oneAgent,
  method: 'DELETE',
  description: 'Deletes an agent profile.',
  ok: mutation(200, 'Deleted, or it did not exist'),
  errors: [],
})

export const renameAgentProfile = endpoint({
  operationId: 'renameAgentProfile',
  ...oneAgent,
  method: 'POST',
  path: '/api/agent-profiles/{name}/rename',
  description: 'Renames an agent profile.',
  body: rename,
  ok: mutation(200, 'Renamed'),
  errors: [404, 409],
})

export const activateAgentProfile = endpoint({
  operationId: 'activateAgentProfile',
  ...agent,
  method: 'POST',
  path: '/api/agent-profiles/{profile_id}/activate',
  description: 'Makes an agent profile the one that clients offer first.',
  params: z.object({ profile_id: laxUuid() }),
  ok: {
    status: 200,
    schema: z.object({ id: z.string(), message: z.string(), agent_settings_applied: z.boolean() }),
    description: 'Set; the agent settings are unchanged',
  },
  errors: [404],
})

export const materializeAgentProfile = endpoint({
  operationId: 'materializeAgentProfile',
  ...oneAgent,
  method: 'POST',
  path: '/api/agent-profiles/{name}/materialize',
  description: 'Returns what a start with an agent profile would use, and what it lacks.',
  ok: { status: 200, schema: AgentProfileDiagnostics, description: 'The findings' },
  errors: [404],
})
