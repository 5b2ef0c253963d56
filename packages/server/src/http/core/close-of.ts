import type { ServerResponse } from 'node:http'
import { ParleyError } from '@parley/protocol'

/** Aborts when the connection of `response` closes before the answer. */
export function closeOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => controller.abort(new ParleyError('unavailable', 'the caller has gone away')))
  return controller.signal
}
