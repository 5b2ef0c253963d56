/** One contract case of one operation: a request, and the status and shape of the answer. */
import { mkdirSync } from 'node:fs'
import { request } from 'node:http'
import { expect } from 'vitest'
import { KEY } from '../../../packages/server/testing/server.ts'
import { command, instruct } from '../../../packages/server/testing/instructed-model.ts'
import type { Bench } from '../../../packages/server/testing/typescript-client.ts'
import { until } from '../../../packages/server/testing/until.ts'

export type Json = ReturnType<typeof JSON.parse>

export type Ask = {
  /** Default: the row's path, with the id of a new idle conversation. */
  path?: string
  body?: unknown
  /** Sent instead of a JSON body. */
  form?: FormData
  headers?: Record<string, string>
  /** Sends no key. */
  anonymous?: boolean
}

export type Case = {
  /** The condition of this answer. */
  says: string
  status: number
  /** The expected body; absent when only the status is specified. */
  shape?: unknown
  ask?: (place: Place) => Ask | Promise<Ask>
}

/** Cases by operation, with the names of the index. */
export type Cases = Readonly<Record<string, readonly Case[]>>

/** Resources for requests. */
export type Place = {
  readonly bench: Bench
  /** A file or folder of this machine. */
  file(...parts: string[]): string
  /** Returns the body of a JSON call, which must succeed. */
  call(method: string, path: string, body?: unknown): Promise<Json>
  /** Creates a conversation and returns its record. */
  idle(members?: Record<string, unknown>): Promise<Json>
  /** A conversation whose model has answered. */
  finished(): Promise<Json>
  /** A conversation with a pending batch. */
  waiting(): Promise<Json>
  /** A conversation with a running command. */
  running(): Promise<Json>
}

export const UNKNOWN = '00000000-0000-4000-8000-000000000000'
export const UUID = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
export const HEX = expect.stringMatching(/^[0-9a-f]{32}$/)
export const UTC = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
export const LOCAL = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
export const TEXT = expect.any(String)
export const NUMBER = expect.any(Number)
export const LIST = expect.any(Array)
export const OBJECT = expect.any(Object)
export const BOOLEAN = expect.any(Boolean)
export const SUCCESS = { success: true }
/** Matches bytes by their beginning. */
export const BYTES = (start: string): unknown => expect.stringMatching(new RegExp(`^${start}`))

/** An error with one message; further members are allowed. */
export const detail = (text: unknown = TEXT): unknown => expect.objectContaining({ detail: text })

/** An error that names the place; further entries are allowed. */
export const invalid = (...loc: (string | number)[]): unknown => ({
  detail: expect.arrayContaining([expect.objectContaining({ type: TEXT, msg: TEXT, loc })]),
})

/** Matches the value or null. */
export const orNull = (matcher: unknown): unknown => ({
  asymmetricMatch: (value: unknown) =>
    value === null || (matcher as { asymmetricMatch(value: unknown): boolean }).asymmetricMatch(value),
})

/** Sends a request unchanged; `fetch` cannot send a GET with a body, which the API has. */
export async function send(
  url: string,
  method: string,
  { body, form, headers, anonymous }: Ask,
): Promise<{ status: number; body: Json }> {
  const payload =
    form === undefined ? new Response(body === undefined ? null : JSON.stringify(body)) : new Response(form)
  const type = form === undefined ? 'application/json' : payload.headers.get('content-type')!
  const bytes = Buffer.from(await payload.arrayBuffer())
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: Json }>()
  const fields = {
    'content-type': type,
    'content-length': bytes.length,
    ...(!anonymous && { 'X-Session-API-Key': KEY }),
    ...headers,
  }
  const sent = request(url, { method, headers: fields }, (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => {
      const text = Buffer.concat(chunks).toString('latin1')
      const isJson = answer.headers['content-type']?.startsWith('application/json') === true
      resolve({
        status: answer.statusCode ?? 0,
        body: isJson ? JSON.parse(Buffer.concat(chunks).toString()) : text || null,
      })
    })
  })
  sent.on('error', reject).end(bytes)
  return promise
}

export function openPlace(bench: Bench): Place {
  const { server, workingDir } = bench
  mkdirSync(server.dir.file('files'), { recursive: true })
  const call: Place['call'] = async (method, path, body) => {
    const answer = await server.call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const one = (id: string) => call('GET', `/api/conversations/${id}`)
  const idle: Place['idle'] = (members = {}) =>
    call('POST', '/api/conversations', { workspace: { working_dir: workingDir }, agent: bench.agent(), ...members })
  const said = async (text: string, status: string, members = {}) => {
    const { id } = await idle({ ...members, initial_message: { content: [{ type: 'text', text }] } })
    await until(async () => (await one(id)).execution_status === status)
    return one(id)
  }
  return {
    bench,
    file: (...parts) => server.dir.file('files', ...parts),
    call,
    idle,
    finished: () => said(instruct({ text: 'Done.' }), 'finished'),
    waiting: () =>
      said(instruct(command('true'), { text: 'Done.' }), 'waiting_for_confirmation', {
        confirmation_policy: { kind: 'AlwaysConfirm' },
      }),
    running: () => said(instruct(command('sleep 600')), 'running'),
  }
}
