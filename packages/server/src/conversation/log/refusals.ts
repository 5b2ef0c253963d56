/** The reasons for which the store refuses an append. */
import { ParleyError } from '@parley/protocol'

/** True for the error of an append whose events were masked with secrets that have changed. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof ParleyError && error.details['reason'] === 'secrets'

/** The error of an append to a log that this copy does not know any more; null for every other error. */
export function lossOf(error: unknown): { hasNewOwner: boolean } | null {
  if (!(error instanceof ParleyError)) return null
  const { reason } = error.details
  if (error.code === 'not_found' || reason === 'epoch') return { hasNewOwner: true }
  // An append was stored although the store reported a failure, and another one follows instead of its repetition.
  return reason === 'seq' ? { hasNewOwner: false } : null
}
