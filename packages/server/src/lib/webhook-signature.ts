/** Standard Webhooks signatures: HMAC-SHA256 over id, time and body under a secret that both servers know. */
import { createHmac, timingSafeEqual } from 'node:crypto'

const PREFIX = 'whsec_'
/** Signatures of one delivery that are compared; a sender that changes its secret sends two. */
const MAX_SIGNATURES = 8
/** Seconds between the time of an attempt and its arrival, in both directions. */
const WINDOW_SECONDS = 300

/** An attempt of a delivery: its id, its time in seconds since 1970, and the bytes of its body. */
export type SignedAttempt = { id: string; timestamp: string; body: string | Uint8Array }

/** The headers of an attempt that identify and sign it. */
export type SignatureHeaders = Readonly<Record<string, unknown>>

/** The signature of an attempt, without the version before it. `secret`: `whsec_` and the key in base64. */
export const webhookSignature = ({ id, timestamp, body }: SignedAttempt, secret: string): Buffer =>
  createHmac('sha256', keyIn(secret)).update(`${id}.${timestamp}.`).update(body).digest()

/**
 * Why an attempt does not count: a clause for the sender; null when one of the secrets has signed it in the last five minutes.
 * @param nowMs milliseconds since 1970
 */
export function signatureFault(
  headers: SignatureHeaders,
  body: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): string | null {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    return 'webhook-id, webhook-timestamp or webhook-signature is missing'
  if (!/^\d{1,12}$/.test(timestamp)) return 'webhook-timestamp is not a number of seconds'
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > WINDOW_SECONDS)
    return `webhook-timestamp is more than ${WINDOW_SECONDS / 60} minutes from the time of this server`
  const given = signatures
    .split(' ', MAX_SIGNATURES)
    .flatMap((text) => (text.startsWith('v1,') ? [Buffer.from(text.slice(3), 'base64')] : []))
  const expected = secrets.map((secret) => webhookSignature({ id, timestamp, body }, secret))
  const isSigned = expected.some((mac) => given.some((one) => one.length === mac.length && timingSafeEqual(one, mac)))
  return isSigned ? null : 'webhook-signature was made with another secret, or for another body'
}

const keyIn = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64')
