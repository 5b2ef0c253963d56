/** Another model for a session that goes on. Source: agent-core.md 11.9. */
import { ParleyError } from '@parley/protocol'
import { detailOf, INTERNAL_ERROR, isRequestFailure } from './failure.ts'
import type { Hold } from './hold.ts'
import type { Provider } from './providers.ts'
import { setModel, type Session } from './session.ts'

/** Milliseconds that the agent gets. */
const SWITCH_MS = 30_000

/**
 * Asks the agent for the model, for at most `limitMs` milliseconds. The session with it; null when there is none yet, and the start of one will ask.
 * @throws ParleyError `bad_request` for a model that cannot be had, `timed_out`, `unavailable`.
 */
export async function switchModel(
  hold: Hold,
  model: string,
  started: Provider | null,
  limitMs = SWITCH_MS,
): Promise<Session | null> {
  if (model.trim() === '') throw new ParleyError('bad_request', 'model must name a model')
  const { held } = hold
  const provider = held?.session.provider ?? started
  if (provider !== null && !provider.switchesModels)
    throw new ParleyError('bad_request', `${provider.key} cannot change its model during a conversation`)
  if (held === null) return null
  const limit = AbortSignal.timeout(limitMs)
  try {
    const session = await setModel(held.connection, held.session, model, limit)
    hold.session = session
    return session
  } catch (error) {
    if (limit.aborted) {
      const message = `The agent did not answer within ${limitMs / 1000} s; its model may have changed.`
      throw new ParleyError('timed_out', message, { cause: error })
    }
    if (isRequestFailure(error) && error.code !== INTERNAL_ERROR)
      throw new ParleyError('bad_request', `The agent refused the model '${model}': ${detailOf(error)}`, {
        cause: error,
      })
    throw new ParleyError('unavailable', `The agent failed to change its model: ${detailOf(error)}`, { cause: error })
  }
}
