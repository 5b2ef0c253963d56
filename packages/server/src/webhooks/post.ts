/** Sends one attempt over HTTP. */
import { operatorFetch } from '../egress/index.ts'
import { retryAfterMs, timeoutSignal } from '../lib/index.ts'
import type { DeliveryResponse } from './retry.ts'

/** Milliseconds until an attempt without a response fails. Source: decisions.md, Webhook delivery. */
export const TIMEOUT_MS = 30_000
/** Bytes of a response body that are read, so that the connection can be reused. */
const DRAIN_BYTES = 64 * 1024
/** Codes of errors before the connection is established, so that nothing was sent. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Posts `body` and returns the result. Rejects only with the reason of `signal`. */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<DeliveryResponse> {
  const limit = timeoutSignal(timeoutMs)
  try {
    // A redirect would send the key and the signature to an address that is not configured.
    const init = { method: 'POST', headers, body, redirect: 'manual' as const }
    const response = await operatorFetch(url, { ...init, signal: AbortSignal.any([signal, limit]) })
    await drain(response).catch(() => undefined)
    return {
      kind: 'response',
      status: response.status,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (limit.aborted) return { kind: 'no_response', reason: `no answer within ${timeoutMs / 1000} s` }
    const reason = reasonOf(error)
    return { kind: NOT_SENT.has(reason) ? 'unreachable' : 'no_response', reason }
  }
}

async function drain(response: Response): Promise<void> {
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength
    if (bytes > DRAIN_BYTES) return
  }
}

/** The code or message of an error; `fetch` wraps the useful one as its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Error) return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
  return String(cause)
}
