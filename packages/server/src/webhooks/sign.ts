/** Standard Webhooks signatures: HMAC-SHA256 over id, time and body, so that a receiver can verify the sender. */
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** The key inside a signing secret. */
const signingKey = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')

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
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds) }
  if (secret === null) return headers
  const mac = createHmac('sha256', signingKey(secret)).update(`${id}.${seconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${mac}` }
}
