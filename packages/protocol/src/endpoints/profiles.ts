/** Rows of LLM profiles and agent profiles. Sources: agent-server-wire.md 1.11, 1.12. */
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

const Mutation = z.object({ name: z.string(), message: z.string() })
const mutation = (status: number, description: string) => ({ status, schema: Mutation, description })
const params = z.object({ name: ProfileName })
const rename = z.object({ new_name: ProfileName })

const llm = { tag: 'Profiles', auth: 'session_key' } as const
const oneLlm = { ...llm, path: '/api/profiles/{name}', params } as const

export const listProfiles = endpoint({
  ...llm,
  method: 'GET',
  path: '/api/profiles',
  summary: 'LLM profiles',
  ok: {
    status: 200,
    schema: z.object({ profiles: z.array(ProfileInfo), active_profile: z.string().nullable() }),
    description: 'By name',
  },
  errors: [],
})

export const getProfile = endpoint({
  ...oneLlm,
  method: 'GET',
  summary: 'One LLM profile, secrets hidden or as X-Expose-Secrets says',
  ok: {
    status: 200,
    schema: z.object({ name: z.string(), config: z.record(z.string(), z.unknown()), api_key_set: z.boolean() }),
    description: 'The profile',
  },
  errors: [400, 403, 404],
})

export const saveProfile = endpoint({
  ...oneLlm,
  method: 'POST',
  summary: 'Create or replace an LLM profile',
  body: SaveProfileRequest,
  ok: mutation(201, 'Saved'),
  errors: [409],
})

export const deleteProfile = endpoint({
  ...oneLlm,
  method: 'DELETE',
  summary: 'Delete an LLM profile that nothing refers to',
  ok: mutation(200, 'It is not there any more'),
  errors: [409],
})

export const validateProfile = endpoint({
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/validate',
  summary: 'Ask a model for one token, to see whether a configuration works',
  /** Bad values are an answer, not a refusal. */
  body: z.object({ llm: z.record(z.string(), z.unknown()) }),
  ok: {
    status: 200,
    schema: z.object({
      valid: z.boolean(),
      error: z.object({ type: z.string(), message: z.string() }).nullable(),
    }),
    description: 'The verdict',
  },
  errors: [],
})

export const renameProfile = endpoint({
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/rename',
  summary: 'Rename an LLM profile, and what refers to it',
  body: rename,
  ok: mutation(200, 'Renamed'),
  errors: [404, 409],
})

export const activateProfile = endpoint({
  ...oneLlm,
  method: 'POST',
  path: '/api/profiles/{name}/activate',
  summary: 'Copy an LLM profile into the settings',
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
  ...agent,
  method: 'GET',
  path: '/api/agent-profiles',
  summary: 'Agent profiles; the first look makes one named default from the settings',
  ok: {
    status: 200,
    schema: z.object({ profiles: z.array(AgentProfileInfo), active_agent_profile_id: z.string().nullable() }),
    description: 'By name',
  },
  errors: [],
})

export const getAgentProfile = endpoint({
  ...oneAgent,
  method: 'GET',
  summary: 'One agent profile',
  ok: { status: 200, schema: z.object({ name: z.string(), profile: AgentProfile }), description: 'The profile' },
  errors: [404],
})

export const saveAgentProfile = endpoint({
  ...oneAgent,
  method: 'POST',
  summary: 'Create an agent profile, or save it as its next revision',
  body: SavedAgentProfile,
  ok: mutation(201, 'Saved'),
  errors: [409],
})

export const deleteAgentProfile = endpoint({
  ...oneAgent,
  method: 'DELETE',
  summary: 'Delete an agent profile',
  ok: mutation(200, 'It is not there any more'),
  errors: [],
})

export const renameAgentProfile = endpoint({
  ...oneAgent,
  method: 'POST',
  path: '/api/agent-profiles/{name}/rename',
  summary: 'Rename an agent profile',
  body: rename,
  ok: mutation(200, 'Renamed'),
  errors: [404, 409],
})

export const activateAgentProfile = endpoint({
  ...agent,
  method: 'POST',
  path: '/api/agent-profiles/{profile_id}/activate',
  summary: 'Make an agent profile the one that clients offer first',
  params: z.object({ profile_id: laxUuid() }),
  ok: {
    status: 200,
    schema: z.object({ id: z.string(), message: z.string(), agent_settings_applied: z.boolean() }),
    description: 'Set; the settings of the agent stay as they are',
  },
  errors: [404],
})

export const materializeAgentProfile = endpoint({
  ...oneAgent,
  method: 'POST',
  path: '/api/agent-profiles/{name}/materialize',
  summary: 'What starting with an agent profile would come to',
  ok: { status: 200, schema: AgentProfileDiagnostics, description: 'The findings' },
  errors: [404],
})

export const profileRows = [
  listProfiles,
  getProfile,
  saveProfile,
  deleteProfile,
  validateProfile,
  renameProfile,
  activateProfile,
  listAgentProfiles,
  getAgentProfile,
  saveAgentProfile,
  deleteAgentProfile,
  renameAgentProfile,
  activateAgentProfile,
  materializeAgentProfile,
] as const
