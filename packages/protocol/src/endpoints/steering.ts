/** Endpoint rows that steer a conversation without a message: goals, models, plugins, secrets. Source: agent-server-wire.md 1.2 and 1.5. */
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
  operationId: 'startGoal',
  ...steering,
  path: `${one}/goal`,
  description: 'Lets the agent work until the goal judge accepts the objective or the number of verdicts is used up.',
  params,
  body: StartGoalRequest,
  ok: done('Started; pending actions still need an approval'),
  errors: [400, 404, 409],
})

export const stopGoal = endpoint({
  operationId: 'stopGoal',
  ...steering,
  path: `${one}/goal/stop`,
  description: 'Ends the goal; a run in progress continues without it.',
  params,
  ok: done('Interrupted, or nothing to stop'),
  errors: [404],
})

export const resumeGoal = endpoint({
  operationId: 'resumeGoal',
  ...steering,
  path: `${one}/goal/resume`,
  description: 'Resumes an interrupted goal.',
  params,
  ok: done('Resumed'),
  errors: [400, 404, 409],
})

export const switchLlm = endpoint({
  operationId: 'switchLlm',
  ...steering,
  path: `${one}/switch_llm`,
  description: 'Switches the agent to another model from its next step on, also during a run.',
  params,
  body: SwitchLlmRequest,
  namesAddresses: true,
  ok: done('Switched'),
  errors: [400, 404, 409],
})

export const switchProfile = endpoint({
  operationId: 'switchProfile',
  ...steering,
  path: `${one}/switch_profile`,
  description: 'Switches the agent to the model of a stored profile from its next step on, also during a run.',
  params,
  body: SwitchProfileRequest,
  ok: done('Switched'),
  errors: [400, 404, 409],
})

export const switchAcpModel = endpoint({
  operationId: 'switchAcpModel',
  ...steering,
  path: `${one}/switch_acp_model`,
  description: 'Switches an ACP agent to another model; other agents are refused.',
  params,
  body: SwitchAcpModelRequest,
  ok: done('Switched'),
  errors: [400, 404, 504],
})

export const loadPlugin = endpoint({
  operationId: 'loadPlugin',
  ...steering,
  path: `${one}/load_plugin`,
  description: 'Loads a plugin of a marketplace; this version knows no marketplace and refuses.',
  params,
  body: LoadPluginRequest,
  ok: done('Loaded'),
  errors: [400, 404],
})

export const updateSecrets = endpoint({
  operationId: 'updateSecrets',
  ...steering,
  path: `${one}/secrets`,
  description: 'Adds secrets for commands that name them; known names are replaced and none is removed.',
  params,
  body: UpdateSecretsRequest,
  ok: done('Stored'),
  errors: [404, 409],
})
