/** Switches the model of an open session. Source: agent-core.md 11.9. */
import { ParleyError } from '@parley/protocol'
import { timeoutSignal } from '../../../lib/index.ts'
import { detailOf, INTERNAL_ERROR, isRequestFailure } from '../failure.ts'
import type { AcpProcess } from '../acp-process.ts'
import type { Provider } from '../providers.ts'
import { setModel, type Session } from './session.ts'

/** Milliseconds that the agent has for the switch. */
const SWITCH_MS = 30_000

/**
 * Requests the model from the agent, for at most `limitMs` milliseconds, and returns the changed session. Null: there is no
 * session yet, and its start will request the model.
 * @throws ParleyError `bad_request` for a model that the agent refuses, `timed_out`, `unavailable`.
 */
export async function switchModel(
  process: AcpProcess,
  model: string,
  started: Provider | null,
  limitMs = SWITCH_MS,
): Promise<Session | null> {
  if (model.trim() === '') throw new ParleyError('bad_request', 'model must name a model')
  const { running } = process
  const provider = running?.session.provider ?? started
  if (provider !== null && !provider.switchesModels)
    throw new ParleyError('bad_request', `${provider.key} cannot change its model during a conversation`)
  if (running === null) return null
  const limit = timeoutSignal(limitMs)
  try {
    const session = await setModel(running.connection, running.session, model, limit)
    process.session = session
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
