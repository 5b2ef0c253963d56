/** Rows for those who run the server: keys, and the record of who did what. Source: design.md 3, Identity. */
import { z } from 'zod'
import { laxInt } from '../lax.ts'
import { laxDateTime, text } from '../lax-text.ts'
import { Success } from './agent-server.ts'
import { endpoint } from './endpoint.ts'

export const Role = z.enum(['admin', 'user', 'read-only'])
/** What a key lets its user do: everything; everything of their own; reading their own. */
export type Role = z.infer<typeof Role>

export const KeyInfo = z.object({
  id: z.string(),
  user: z.string(),
  role: Role,
  label: z.string().nullable(),
  created_at: z.string(),
  /** Null: never. */
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
})
/** A key as lists show it: never the key itself. */
export type KeyInfo = z.infer<typeof KeyInfo>

export const IssuedKey = KeyInfo.extend({ key: z.string() })
/** A new key. It is shown in this answer only. */
export type IssuedKey = z.infer<typeof IssuedKey>

export const CreateKeyRequest = z.strictObject({
  user: text({ min: 1, max: 255, pattern: /^\S(?:.*\S)?$/ }),
  role: Role.default('user'),
  label: text({ max: 255 }).nullable().default(null),
  /** Null: never. */
  expires_at: laxDateTime().nullable().default(null),
})
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>

const operator = { tag: 'Keys', auth: 'session_key' } as const
const params = z.object({ key_id: z.string() })

export const listKeys = endpoint({
  ...operator,
  method: 'GET',
  path: '/api/keys',
  summary: 'Issued keys in the order of their creation; for administrators',
  ok: { status: 200, schema: z.object({ items: z.array(KeyInfo) }), description: 'Revoked and expired ones included' },
  errors: [403],
})

export const createKey = endpoint({
  ...operator,
  method: 'POST',
  path: '/api/keys',
  summary: 'Issue a key to a user; for administrators',
  body: CreateKeyRequest,
  ok: { status: 201, schema: IssuedKey, description: 'With the key, which is never shown again' },
  errors: [403],
})

export const revokeKey = endpoint({
  ...operator,
  method: 'DELETE',
  path: '/api/keys/{key_id}',
  summary: 'Revoke a key; for administrators',
  params,
  ok: { status: 200, schema: Success, description: 'It opens nothing any more' },
  errors: [403, 404],
})

export const rotateKey = endpoint({
  ...operator,
  method: 'POST',
  path: '/api/keys/{key_id}/rotate',
  summary: 'Issue a successor of a key; the old one works until it is revoked; for administrators',
  params,
  ok: { status: 201, schema: IssuedKey, description: 'With the new key, which is never shown again' },
  errors: [403, 404, 409],
})

export const AuditItem = z.object({
  id: z.int(),
  at: z.string(),
  user: z.string(),
  key_id: z.string(),
  /** Method and pattern of the route. */
  action: z.string(),
  conversation_id: z.string().nullable(),
  /** Status of the answer. */
  status: z.int(),
})
export type AuditItem = z.infer<typeof AuditItem>

export const readAudit = endpoint({
  ...operator,
  method: 'GET',
  path: '/api/audit',
  summary: 'Who changed what, newest first; for administrators',
  query: z.object({
    user: z.string().optional(),
    limit: laxInt({ gt: 0, le: 1000 }).default(100),
    /** Id of the last entry seen. */
    after: laxInt({ gt: 0 }).optional(),
  }),
  ok: {
    status: 200,
    schema: z.object({ items: z.array(AuditItem), next_after: z.int().nullable() }),
    description: 'The page',
  },
  errors: [403],
})

export const keyRows = [listKeys, createKey, revokeKey, rotateKey] as const
export const auditRows = [readAudit] as const
