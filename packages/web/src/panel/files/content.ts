/** Bytes of a file of a workspace. They are shown as an image or saved, never as a page. */
import { ServerError } from '../../api/errors.ts'
import { server } from '../../api/server.ts'
import { nameOf } from './path.ts'

/** The size of a file that is too large to be shown. */
export class TooLarge extends Error {
  readonly size: number

  constructor(size: number) {
    super('too large')
    this.size = size
  }
}

/**
 * The bytes of a file.
 * @param type what the bytes are to the browser
 * @throws ServerError; TooLarge for more than `maxBytes`
 */
export async function contentOf(
  conversation: string,
  path: string,
  { type, maxBytes = Infinity, signal }: { type: string; maxBytes?: number; signal?: AbortSignal },
): Promise<Blob> {
  const url = `/api/conversations/${encodeURIComponent(conversation)}/files/content?${new URLSearchParams({ path }).toString()}`
  const token = server.token()
  const headers = new Headers(token === null ? {} : { 'X-Session-API-Key': token })
  const end = new AbortController()
  const signals = signal === undefined ? [end.signal] : [end.signal, signal]
  const answer = await fetch(url, { headers, credentials: 'omit', redirect: 'error', signal: AbortSignal.any(signals) })
  if (!answer.ok) {
    const body = (await answer.json().catch(() => null)) as { detail?: unknown } | null
    throw new ServerError(typeof body?.detail === 'string' ? body.detail : answer.statusText, answer.status, null)
  }
  const size = Number(answer.headers.get('content-length') ?? 0)
  if (size > maxBytes) {
    end.abort()
    throw new TooLarge(size)
  }
  return (await answer.blob()).slice(0, undefined, type)
}

/** Saves a file as the browser saves downloads. */
export async function download(conversation: string, path: string): Promise<void> {
  const url = URL.createObjectURL(await contentOf(conversation, path, { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = nameOf(path)
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
