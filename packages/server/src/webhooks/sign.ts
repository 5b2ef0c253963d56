/** Standard Webhooks signatures: HMAC-SHA256 over id, time and body, so that a receiver can tell our deliveries from others. */
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** The key inside a signing secret. */
export const signingKey = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')

/**
 * Headers that identify and sign one attempt.
 * @param id stays the same for every attempt of a delivery; receivers tell repetitions by it
 * @param seconds time of the attempt, since 1970; receivers refuse old ones, so that nothing can be replayed
 */
export function signatureHeaders(
  id: string,
  seconds: number,
  body: string,
  secret: string | null,
): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds) }
  if (secret === null) return headers
  const mac = createHmac('sha256', signingKey(secret)).update(`${id}.${seconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${mac}` }
}
