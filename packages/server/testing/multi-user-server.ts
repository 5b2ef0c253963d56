/** A server in its own process, with keys of several users. */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { filesBelow } from './files-below.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from './server-process.ts'
import { storeKeys } from './stored-keys.ts'
import { storedText } from './chosen-store.ts'

/** Untyped JSON of an answer. */
export type Loose = ReturnType<typeof JSON.parse>
export type Answered = { status: number; headers: Headers; text: string; json: Loose }
export type CallOptions = { key?: string | null; headers?: Record<string, string> }

export type Serving = AsyncDisposable & {
  server: ServerProcess
  /** Keys of other users; the key of `call` belongs to the user `default`, an administrator. */
  keys: { ann: string; bob: string; reader: string }
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answered>
}

/**
 * Starts a server on `dataDir`, which may be in use from an earlier start, with the log level `trace`. In the mode `shared`, the
 * directories beside the data directory are open to all users.
 */
export async function serve(dataDir: string, env: Record<string, string> = {}): Promise<Serving> {
  const keys = await makeKeys(dataDir)
  const roots = env['PARLEY_MODE'] === 'shared' ? { PARLEY_WORKSPACE_ROOTS: dirname(dataDir) } : {}
  const server = await startServerProcess({ dataDir, env: { PARLEY_LOG_LEVEL: 'trace', ...roots, ...env } })
  return {
    server,
    keys,
    async call(method, path, body, { key = TEST_KEY, headers = {} } = {}) {
      const answer = await fetch(server.url + path, {
        method,
        headers: {
          ...(key === null ? {} : { 'X-Session-API-Key': key }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const text = await answer.text()
      const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
      return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function makeKeys(dataDir: string): Promise<Serving['keys']> {
  const [ann, bob, reader] = await storeKeys(dataDir, ['ann', 'user'], ['bob', 'user'], ['ann', 'read-only'])
  return { ann: ann!, bob: bob!, reader: reader! }
}

/** All files below a directory as one binary text. */
export async function bytesOf(directory: string): Promise<string> {
  const texts: string[] = []
  for await (const file of filesBelow(directory)) texts.push(await readFile(file, 'latin1'))
  return texts.join('\n')
}

/** The store as one text, without the output of commands, which the runner keeps. */
export const storeOf = storedText
