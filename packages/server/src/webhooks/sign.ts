/** Headers that identify and sign one attempt, so that a receiver can verify the sender. */
import { webhookSignature } from '../lib/index.ts'

/**
 * Headers that identify and sign one attempt.
 * @param id the same for every attempt of a delivery, so that receivers detect repetitions
 * @param seconds time of the attempt since 1970; receivers refuse old ones to prevent replays
 */
export function signatureHeaders(
  id: string,
  seconds: number,
  body: string,
  secret: string | null,
): Record<string, string> {
  const timestamp = String(seconds)
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === null) return headers
  const mac = webhookSignature({ id, timestamp, body }, secret).toString('base64')
  return { ...headers, 'webhook-signature': `v1,${mac}` }
}
