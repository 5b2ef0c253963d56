/** What the audit log records about a request. Source: docs/audit.md, What is recorded. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from '../../conversation/index.ts'
import type { AuditedRequest } from '../../storage/index.ts'
import type { Answer } from './errors.ts'

export type RequestFacts = {
  actor: Pick<Actor, 'user' | 'keyId'>
  method: string
  headers: IncomingHttpHeaders
  params: { conversation_id?: string }
  /** Method and pattern of the route. */
  action: string
  /** The route reads secrets or files. */
  isAuditedRead: boolean
}

/** The entry of a request that may have changed something, or that reads secrets or files; null for every other request. */
export function auditedRequest(
  { actor, method, headers, params, action, isAuditedRead }: RequestFacts,
  { status, about, audit }: Pick<Answer, 'status' | 'about' | 'audit'>,
): AuditedRequest | null {
  const exposed = headers['x-expose-secrets']
  if (method === 'GET' && !isAuditedRead && exposed === undefined) return null
  // The header is one of a few words, or refused.
  const detail = exposed === undefined ? {} : { detail: exposed === 'plaintext' ? 'secrets in clear text' : 'secrets' }
  return { action, actor, status, conversationId: about ?? params.conversation_id, ...detail, ...audit }
}
