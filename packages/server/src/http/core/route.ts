/** Routes from endpoint rows and handlers. The schemas of the row parse the request, in the order of the 422 format. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { asConversationId, type ConversationId, type Endpoint, InvalidValue, type Received } from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import { type Answer, isNotFound, UNKNOWN_CONVERSATION, type UnknownConversation } from './errors.ts'
import { isLarge, readJsonBody } from '../input/json-body.ts'
import { refusedValue, type SentParts } from '../input/refused-value.ts'
import { InvalidInput, type Read, read, readBody, readQuery } from '../input/validation.ts'
import type { RawRequest, Route, Streamed } from './web.ts'

/** A parsed request. */
export type Call<E extends Endpoint> = Received<E> & {
  /** The conversation in the path; empty where the path has none. */
  id: ConversationId
  headers: IncomingHttpHeaders
  /** The address that the request is counted under. */
  address: string | undefined
  /** The body of a route that reads it as a stream; absent for an empty body. */
  stream: Readable | undefined
  contentType: string | undefined
  /** Aborts when the caller has disconnected or the server closes. */
  callerSignal: () => AbortSignal
}

type Serve<E extends Endpoint, Who> = (call: Call<E>, actor: Who) => Promise<Answer | Streamed>

/** A route that needs a key. `unknown`: its answer for an unknown conversation. Source: agent-server-wire.md 1.5. */
export function route<const E extends Endpoint>(
  row: E,
  serve: Serve<E, Actor>,
  unknown: UnknownConversation = 'not_found',
): Route {
  return {
    ...placeOf(row),
    answer: async (request) => {
      const { actor } = request
      if (actor === null) throw new Error(`${row.method} ${row.path} was served without an actor`)
      let id: ConversationId | '' = ''
      try {
        const call = await readCall(row, request)
        id = call.id
        return await serve(call, actor)
      } catch (error) {
        if (isNotFound(error, 'conversation') && id !== '') return UNKNOWN_CONVERSATION[unknown](id)
        if (error instanceof InvalidValue) throw refusedValue(error, await sentParts(row, request))
        throw error
      }
    },
  }
}

/** A route that needs no key. `actor`: null without a valid key, and always unless the route is `isOpenWithActor`. */
export function openRoute<const E extends Endpoint>(
  row: E,
  serve: (call: Call<E>, actor: Actor | null) => Promise<Answer>,
): Route {
  return { ...placeOf(row), answer: async (request) => serve(await readCall(row, request), request.actor) }
}

/** The row's successful answer with this body. */
export const ok = (row: Endpoint, body: unknown): Answer => ({ status: row.ok.status, body })

const placeOf = (row: Endpoint) => ({
  row,
  method: row.method,
  path: row.path,
  isOpen: row.auth === 'none',
  streamsBody: row.streamsBody === true,
})

const NOTHING: Read<undefined> = { value: undefined, entries: [] }

/** The request as it was sent; its body is read once more, because most requests are never refused. */
async function sentParts(row: Endpoint, { path, query, body, contentType }: RawRequest): Promise<SentParts> {
  const read = row.body === undefined ? undefined : await readJsonBody(body, contentType)
  return {
    body: read === undefined ? undefined : read.kind === 'value' ? read.value : null,
    path: row.params === undefined ? undefined : path,
    query: row.query === undefined ? undefined : query,
  }
}

/** @throws InvalidInput with the first failures of path, query and body; InvalidValue for an address that is never allowed. */
async function readCall<E extends Endpoint>(row: E, request: RawRequest): Promise<Call<E>> {
  const params = row.params === undefined ? NOTHING : read(row.params, request.path, ['path'])
  const query = row.query === undefined ? NOTHING : readQuery(row.query, request.query)
  // A route without a body ignores it; clients send nothing, `{}` or other values.
  const json = row.body === undefined ? undefined : await readJsonBody(request.body, request.contentType)
  const body =
    row.body === undefined || json === undefined ? NOTHING : readBody(row.body, json, row.bodyOptional === true)
  const entries = [...params.entries, ...query.entries, ...body.entries]
  if (entries.length > 0) throw new InvalidInput(entries)
  const id = (params.value as { conversation_id?: ConversationId } | undefined)?.conversation_id ?? asConversationId('')
  if (isLarge(request.body)) await nextTurn()
  // The body as it was sent, in which a refusal has its place.
  if (row.namesAddresses === true && json?.kind === 'value') request.expectAddresses(json.value)
  const received = { params: params.value, query: query.value, body: body.value } as Received<E>
  return {
    ...received,
    id,
    headers: request.headers,
    address: request.address,
    stream: request.stream,
    contentType: request.contentType,
    callerSignal: () => request.callerSignal(),
  }
}
