/** Steering of a conversation without a message. Source: agent-server-wire.md 1.5; agent-core.md 3.7, 10.9. */
import {
  type LLM,
  loadPlugin,
  ParleyError,
  type RequestedSecrets,
  resumeGoal,
  type SecretSource,
  startGoal,
  stopGoal,
  switchAcpModel,
  switchLlm,
  switchProfile,
  updateSecrets,
} from '@parley/protocol'
import type { Conversations } from '../../conversation/index.ts'
import { ok, route } from '../core/route.ts'
import type { Route } from '../core/web.ts'

const SUCCESS = { success: true }

export type Steering = {
  /** @throws ParleyError `invalid_input`. */
  acceptSecrets(given: RequestedSecrets): Record<string, SecretSource>
  /** The model with this user's encrypted secrets decrypted. @throws ParleyError `invalid_input`. */
  openedLlm(user: string, llm: LLM): LLM
  /** The model of a user's profile; null for an unknown one. @throws ParleyError `conflict` for an unusable one. */
  findLlm(user: string, name: string): Promise<LLM | null>
}

export function steeringRoutes(conversations: Conversations, steering: Steering): Route[] {
  return [
    route(startGoal, async ({ id, body }, actor) => {
      const { objective, max_iterations } = body
      await conversations.send(id, { kind: 'start_goal', objective, max_iterations }, actor)
      return ok(startGoal, SUCCESS)
    }),
    route(stopGoal, async ({ id }, actor) => {
      await conversations.send(id, { kind: 'stop_goal' }, actor)
      return ok(stopGoal, SUCCESS)
    }),
    route(resumeGoal, async ({ id }, actor) => {
      await conversations.send(id, { kind: 'resume_goal' }, actor)
      return ok(resumeGoal, SUCCESS)
    }),
    route(updateSecrets, async ({ id, body }, actor) => {
      const secrets = steering.acceptSecrets(body.secrets)
      await conversations.send(id, { kind: 'set_secrets', secrets }, actor)
      return ok(updateSecrets, SUCCESS)
    }),
    ...modelRoutes(conversations, steering),
    route(loadPlugin, async ({ id, body }, actor) => {
      await conversations.info(id, actor, undefined, 'decide')
      const reason = `Plugin '${body.plugin_ref}' cannot be loaded: this version knows no marketplaces`
      throw new ParleyError('bad_request', `${reason}. Attach it with plugins when a conversation starts.`)
    }),
  ]
}

function modelRoutes(conversations: Conversations, steering: Steering): Route[] {
  return [
    route(switchLlm, async ({ id, body }, actor) => {
      await conversations.send(id, { kind: 'switch_llm', llm: steering.openedLlm(actor.user, body.llm) }, actor)
      return ok(switchLlm, SUCCESS)
    }),
    route(switchProfile, async ({ id, body: { profile_name } }, actor) => {
      // Checked first: for another user's conversation the answer must not depend on profiles.
      await conversations.info(id, actor, undefined, 'decide')
      const found = await steering.findLlm(actor.user, profile_name).catch(cannotBeLoaded)
      if (found === null)
        throw new ParleyError('not_found', `Profile '${profile_name}' not found`, { details: { profile_name } })
      const llm = { ...found, usage_id: `profile:${profile_name}` }
      await conversations.send(id, { kind: 'switch_llm', llm }, actor)
      return ok(switchProfile, SUCCESS)
    }),
    route(switchAcpModel, async ({ id, body }, actor) => {
      await conversations.send(id, { kind: 'switch_acp_model', model: body.model }, actor)
      return ok(switchAcpModel, SUCCESS)
    }),
  ]
}

/** A profile that exists but is unusable is a bad request here, not a conflict. */
function cannotBeLoaded(error: unknown): never {
  if (error instanceof ParleyError && error.code === 'conflict')
    throw new ParleyError('bad_request', error.message, { cause: error })
  throw error
}
