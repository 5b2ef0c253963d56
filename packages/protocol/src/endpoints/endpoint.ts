/** An endpoint as data. The router, the client and the OpenAPI document read the same row. */
import type { z } from 'zod'

const MIB = 1024 * 1024
/** Largest body of a row without a limit of its own, in bytes. Source: docs/errors.md, Size of a body. */
export const BODY_LIMIT_BYTES = 2 * MIB
/** Largest body with images, recordings or events, in bytes. Source: docs/errors.md, Size of a body. */
export const LARGE_BODY_LIMIT_BYTES = 10 * MIB

export type EndpointAnswer = {
  status: number
  /** Absent: no body. */
  schema?: z.ZodType
  description: string
}

export type Endpoint = {
  /** The name of the operation in generated clients. Unique; a change breaks their callers. */
  operationId: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/api/conversations/{conversation_id}`. */
  path: string
  /** Title in the OpenAPI document, where the upstream one does not follow from `operationId`. */
  summary?: string
  /** Begins with a verb in the third person: "Returns …". */
  description: string
  tag: string
  auth: 'session_key' | 'none'
  /** One schema per name in braces. */
  params?: z.ZodObject
  /** Values arrive as text, repeated ones as arrays of text. */
  query?: z.ZodObject
  body?: z.ZodType
  /** An empty body is read as `{}`. */
  bodyOptional?: boolean
  /** Largest body in bytes, unless the server is configured with another limit for all rows. Absent: `BODY_LIMIT_BYTES`. */
  bodyLimitBytes?: number
  /** The body is no JSON; it has any length and is read as a stream. */
  streamsBody?: boolean
  ok: EndpointAnswer
  /** Further successful answers. */
  also?: readonly EndpointAnswer[]
  /** The body may name addresses that the server requests for its user; those that are never allowed get 422. */
  namesAddresses?: boolean
  /** A GET that the audit log records, because it reads secrets or whole files. */
  isAuditedRead?: boolean
  /** Error statuses besides 401 and 422. */
  errors: readonly number[]
}

/** Returns `row` with its exact types. */
export const endpoint = <const E extends Endpoint>(row: E): E => row

/**
 * True for a row whose requests may carry the header `Idempotency-Key`. A body that is a stream cannot be compared before it takes
 * effect. Source: decisions.md, Retried requests.
 */
export const takesIdempotencyKey = ({ method, auth, streamsBody }: Endpoint): boolean =>
  method === 'POST' && auth === 'session_key' && streamsBody !== true

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined
type Written<S> = S extends z.ZodType ? z.input<S> : undefined

/** The parsed request that a handler of the row receives, defaults filled in. */
export type Received<E extends Endpoint> = {
  params: Parsed<E['params']>
  query: Parsed<E['query']>
  body: Parsed<E['body']>
}

/** The body as callers of the row write it. */
export type BodyInput<E extends Endpoint> = Written<E['body']>
export type QueryInput<E extends Endpoint> = Written<E['query']>

/** The body of the row's first answer. */
export type OkBody<E extends Endpoint> = Parsed<E['ok']['schema']>
