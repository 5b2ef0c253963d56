/** Endpoint rows for administrators: keys and the audit log. Source: decisions.md, Identity. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { laxDateTime, text } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

export const Role = z.enum(['admin', 'user', 'read-only', 'webhook'])
/** Permissions of a key: everything; the user's own data; reading the user's own data; delivering webhooks, and nothing else. */
export type Role = z.infer<typeof Role>

export const KeyInfo = z.object({
  id: z.string(),
  user: z.string(),
  role: Role,
  label: z.string().nullable(),
  created_at: z.string(),
  /** Null: the key does not expire. */
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
})
/** A key as lists show it, without the key itself. */
export type KeyInfo = z.infer<typeof KeyInfo>

export const IssuedKey = KeyInfo.extend({ key: z.string() })
/** A new key. Only this answer contains it. */
export type IssuedKey = z.infer<typeof IssuedKey>

export const CreateKeyRequest = z.strictObject({
  user: text({ min: 1, max: 255, pattern: /^\S(?:.*\S)?$/ }),
  role: Role.default('user'),
  label: text({ max: 255 }).nullable().default(null),
  /** Null: the key does not expire. */
  expires_at: laxDateTime().nullable().default(null),
})
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>

const operator = { tag: 'Keys', auth: 'session_key' } as const
const params = z.object({ key_id: z.string() })

export const listKeys = endpoint({
  operationId: 'listKeys',
  ...operator,
  method: 'GET',
  path: '/api/keys',
  description: 'Lists the issued keys in the order of their creation; for administrators.',
  ok: { status: 200, schema: z.object({ items: z.array(KeyInfo) }), description: 'Including revoked and expired keys' },
  errors: [403],
})

export const createKey = endpoint({
  operationId: 'createKey',
  ...operator,
  method: 'POST',
  path: '/api/keys',
  description: 'Issues a key to a user; for administrators.',
  body: CreateKeyRequest,
  ok: { status: 201, schema: IssuedKey, description: 'With the key, which no other answer contains' },
  errors: [403],
})

export const revokeKey = endpoint({
  operationId: 'revokeKey',
  ...operator,
  method: 'DELETE',
  path: '/api/keys/{key_id}',
  description: 'Revokes a key; for administrators.',
  params,
  ok: { status: 200, schema: Success, description: 'Revoked' },
  errors: [403, 404],
})

export const rotateKey = endpoint({
  operationId: 'rotateKey',
  ...operator,
  method: 'POST',
  path: '/api/keys/{key_id}/rotate',
  description: 'Issues a successor of a key; the old key works until it is revoked. For administrators.',
  params,
  ok: { status: 201, schema: IssuedKey, description: 'With the new key, which no other answer contains' },
  errors: [403, 404, 409],
})

export const AuditItem = z.object({
  id: z.int(),
  /** Time of the first request. */
  at: z.string(),
  /** Time of the last one, if `count` is above 1. */
  until: z.string().nullable(),
  /** Number of requests that were alike. */
  count: z.int(),
  /** Empty for a login with an unknown key. */
  user: z.string(),
  key_id: z.string(),
  /** Method and pattern of the route. */
  action: z.string(),
  conversation_id: z.string().nullable(),
  /** Status of the answer. */
  status: z.int(),
  /** The user that the request was about, such as the one who got a key. */
  subject: z.string().nullable(),
  /** Facts from the server, such as the id of that key, or the address of a wrong one. */
  detail: z.string().nullable(),
})
export type AuditItem = z.infer<typeof AuditItem>

export const readAudit = endpoint({
  operationId: 'readAudit',
  ...operator,
  method: 'GET',
  path: '/api/audit',
  description: 'Lists who changed what and who read secrets, newest first; for administrators.',
  query: z.object({
    /** Empty: logins with unknown keys. */
    user: z.string().optional(),
    limit: laxInt({ gt: 0, le: 1000 }).default(100),
    /** Id of the last entry of the previous page. */
    after: laxInt({ gt: 0 }).optional(),
  }),
  ok: {
    status: 200,
    schema: z.object({ items: z.array(AuditItem), next_after: z.int().nullable() }),
    description: 'The page',
  },
  errors: [403],
})
