/** One attempt over HTTP. */
import { type Answer, retryAfterMs } from './retry.ts'

/** An attempt that is not answered within this has failed. Source: design.md 4, "Webhook delivery". */
export const TIMEOUT_MS = 30_000
/** Of an answer's body this much is read, to keep the connection; the rest is not waited for. */
const DRAIN_BYTES = 64 * 1024
/** Codes of errors that come before a connection is there, so that nothing of the body was sent. */
const UNREACHED: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Posts `body` and says what came of it; rejects only with the reason of `signal`. */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Answer> {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    // A redirect would carry key and signature to a place that nobody configured.
    const init = { method: 'POST', headers, body, redirect: 'manual' as const }
    const response = await fetch(url, { ...init, signal: AbortSignal.any([signal, limit]) })
    await drain(response).catch(() => undefined)
    return {
      kind: 'answered',
      status: response.status,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (limit.aborted) return { kind: 'silence', reason: `no answer within ${timeoutMs / 1000} s` }
    const reason = why(error)
    return { kind: UNREACHED.has(reason) ? 'unreached' : 'silence', reason }
  }
}

async function drain(response: Response): Promise<void> {
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).byteLength
    if (bytes > DRAIN_BYTES) return
  }
}

/** `fetch` wraps the cause that a person can act on. */
function why(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Error) return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
  return String(cause)
}
