/** Rows that steer a conversation from outside its messages: goals, models, secrets. Source: agent-server-wire.md 1.2 and 1.5. */
import { z } from 'zod'
import { laxConversationId } from '../lax-text.ts'
import {
  LoadPluginRequest,
  StartGoalRequest,
  SwitchAcpModelRequest,
  SwitchLlmRequest,
  SwitchProfileRequest,
  UpdateSecretsRequest,
} from '../requests-steering.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

const steering = { tag: 'Conversations', auth: 'session_key', method: 'POST' } as const
const params = z.object({ conversation_id: laxConversationId() })
const done = (description: string) => ({ status: 200, schema: Success, description })
const one = '/api/conversations/{conversation_id}'

export const startGoal = endpoint({
  ...steering,
  path: `${one}/goal`,
  summary: 'Let the agent work until a judge says that the objective is reached, or so many verdicts were given',
  params,
  body: StartGoalRequest,
  ok: done('Started; an action that waits for a person still waits'),
  errors: [400, 404, 409],
})

export const stopGoal = endpoint({
  ...steering,
  path: `${one}/goal/stop`,
  summary: 'End the goal; a run that goes on ends as an ordinary one',
  params,
  ok: done('Interrupted, or nothing to stop'),
  errors: [404],
})

export const resumeGoal = endpoint({
  ...steering,
  path: `${one}/goal/resume`,
  summary: 'Take an interrupted goal up where it was',
  params,
  ok: done('Resumed'),
  errors: [400, 404, 409],
})

export const switchLlm = endpoint({
  ...steering,
  path: `${one}/switch_llm`,
  summary: 'Give the agent another model, from its next step on, also while it runs',
  params,
  body: SwitchLlmRequest,
  ok: done('Switched'),
  errors: [400, 404, 409],
})

export const switchProfile = endpoint({
  ...steering,
  path: `${one}/switch_profile`,
  summary: 'Give the agent the model of a stored profile, from its next step on, also while it runs',
  params,
  body: SwitchProfileRequest,
  ok: done('Switched'),
  errors: [400, 404, 409],
})

export const switchAcpModel = endpoint({
  ...steering,
  path: `${one}/switch_acp_model`,
  summary: 'Give an ACP agent another model; refused for every other agent',
  params,
  body: SwitchAcpModelRequest,
  ok: done('Switched'),
  errors: [400, 404, 504],
})

export const loadPlugin = endpoint({
  ...steering,
  path: `${one}/load_plugin`,
  summary: 'Load a plugin of a marketplace; this version knows none and refuses',
  params,
  body: LoadPluginRequest,
  ok: done('Loaded'),
  errors: [400, 404],
})

export const updateSecrets = endpoint({
  ...steering,
  path: `${one}/secrets`,
  summary: 'Add secrets that reach the commands which name them; known names are replaced, none is removed',
  params,
  body: UpdateSecretsRequest,
  ok: done('Stored'),
  errors: [404, 409],
})

export const steeringRows = [
  startGoal,
  stopGoal,
  resumeGoal,
  switchLlm,
  switchProfile,
  switchAcpModel,
  loadPlugin,
  updateSecrets,
] as const
