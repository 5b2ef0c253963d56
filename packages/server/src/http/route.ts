/** From an endpoint's row and what it does to a route: the row's schemas read the request, in the format's order. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { asConversationId, type ConversationId, type Endpoint, type Received } from '@parley/protocol'
import type { Actor } from '../conversation/index.ts'
import { type Answer, isNotFound, UNKNOWN_CONVERSATION, type UnknownConversation } from './errors.ts'
import { readJsonBody } from './json-body.ts'
import { InvalidInput, type Read, read, readBody, readQuery } from './validation.ts'
import type { RawRequest, Route, Streamed } from './web.ts'

/** A request whose every part has been read. */
export type Call<E extends Endpoint> = Received<E> & {
  /** The conversation in the path; empty where the path has none. */
  id: ConversationId
  headers: IncomingHttpHeaders
  /** The body of a route that reads it itself; absent when none came. */
  stream: Readable | undefined
  contentType: string | undefined
  /** Aborts when nobody waits for the answer any longer. */
  gone: () => AbortSignal
}

type Serve<E extends Endpoint, Who> = (call: Call<E>, actor: Who) => Promise<Answer | Streamed>

/** A route behind a key. `unknown`: its words for a conversation that is not there (agent-server-wire.md 1.5). */
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
      const call = readCall(row, request)
      try {
        return await serve(call, actor)
      } catch (error) {
        if (isNotFound(error, 'conversation') && call.id !== '') return UNKNOWN_CONVERSATION[unknown](call.id)
        throw error
      }
    },
  }
}

/** A route that answers everyone. */
export function openRoute<const E extends Endpoint>(row: E, serve: (call: Call<E>) => Promise<Answer>): Route {
  return { ...placeOf(row), answer: async (request) => serve(readCall(row, request)) }
}

/** The row's own answer of success, with this body. */
export const ok = (row: Endpoint, body: unknown): Answer => ({ status: row.ok.status, body })

const placeOf = ({ method, path, auth }: Endpoint) => ({ method, path, isOpen: auth === 'none' })

const NOTHING: Read<undefined> = { value: undefined, entries: [] }

/** @throws InvalidInput with every failure of path, query and body. */
function readCall<E extends Endpoint>(row: E, request: RawRequest): Call<E> {
  const params = row.params === undefined ? NOTHING : read(row.params, request.path, ['path'])
  const query = row.query === undefined ? NOTHING : readQuery(row.query, request.query)
  // A route without a body ignores whatever came; clients send nothing, `{}` or anything else there.
  const body =
    row.body === undefined
      ? NOTHING
      : readBody(row.body, readJsonBody(request.body, request.contentType), row.bodyOptional === true)
  const entries = [...params.entries, ...query.entries, ...body.entries]
  if (entries.length > 0) throw new InvalidInput(entries)
  const id = (params.value as { conversation_id?: ConversationId } | undefined)?.conversation_id ?? asConversationId('')
  const received = { params: params.value, query: query.value, body: body.value } as Received<E>
  return {
    ...received,
    id,
    headers: request.headers,
    stream: request.stream,
    contentType: request.contentType,
    gone: () => request.gone(),
  }
}
