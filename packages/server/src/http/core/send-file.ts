/** Bytes of a file or a program as an answer, at the pace of the reader. */
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Log } from '../../observability/index.ts'
import type { OpenFile } from '../../workspace/index.ts'
import type { Streamed } from './web.ts'

type Headers = Record<string, string>

/** A file, with headers for caches and clients. */
export function sendFile(file: OpenFile, headers: Headers, log: Pick<Log, 'error'>): Streamed {
  const about = {
    'content-length': String(file.size),
    etag: `"${Math.trunc(file.mtimeMs).toString(16)}-${file.size.toString(16)}"`,
    'last-modified': new Date(file.mtimeMs).toUTCString(),
  }
  return sendStream(
    () => file.stream(),
    { ...about, ...headers },
    () => file.close(),
    log,
  )
}

/** The stream that `open` returns; calls `close` after it was sent or the reader disconnected. */
export function sendStream(
  open: () => Readable,
  headers: Headers,
  close: () => PromiseLike<unknown>,
  log: Pick<Log, 'error'>,
): Streamed {
  return {
    stream(response: ServerResponse, sent: Headers) {
      response.writeHead(200, { ...sent, ...headers })
      const source = open()
      pipeline(source, response)
        .catch((error: unknown) => {
          // A reader that disconnects is no error.
          if (!isPremature(error)) log.error({ err: error }, 'file transfer aborted')
          response.destroy()
        })
        .then(close)
        .catch((error: unknown) => log.error({ err: error }, 'sent file not closed'))
    },
  }
}

const isPremature = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE'

/** Headers of a download: the name in ASCII, and the full name for readers that support it. Source: RFC 6266. */
export function attachment(name: string): Headers {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\]/g, '_')
  const whole = plain === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, hex)}`
  return { 'content-disposition': `attachment; filename="${plain}"${whole}` }
}

const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
