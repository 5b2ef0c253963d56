/** Bytes of a file or a program as an answer, at the pace of whoever reads them. */
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Log } from '../observability/index.ts'
import type { OpenFile } from '../workspace/index.ts'
import type { Streamed } from './web.ts'

type Headers = Record<string, string>

/** A file, with what caches and clients want to know of it. */
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

/** What `open` gives, and `close` once it has been sent or nobody wants it any longer. */
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
          // A reader that goes away is no news.
          if (!isPremature(error)) log.error({ err: error }, 'a file could not be sent to its end')
          response.destroy()
        })
        .then(close)
        .catch((error: unknown) => log.error({ err: error }, 'a file that was sent could not be closed'))
    },
  }
}

const isPremature = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE'

/** For a download: the name in ASCII, and whole for readers that can. Source: RFC 6266. */
export function attachment(name: string): Headers {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\]/g, '_')
  const whole = plain === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, hex)}`
  return { 'content-disposition': `attachment; filename="${plain}"${whole}` }
}

const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
