/**
 * Tokens for values that clients receive encrypted and send back. Each is bound to a user and to the kind of place that it was read
 * from: a key of a model that was sent back as the value of a secret could be printed by a command. Source: docs/security.md, Access to secrets.
 */
import { createHash } from 'node:crypto'
import type { Fernet } from './fernet.ts'
import { isFernetToken, makeFernet } from './fernet.ts'
import type { JsonObject } from './json.ts'
import type { SecretPlace } from './secret-members.ts'

/**
 * Kinds of places; a token moves between places of one kind alone.
 * `model`: keys and headers of models, in settings, profiles, connections, agents, condensers and critics. `tools`: environments, headers
 * and credentials of MCP servers. `secret`: values and look-ups of secrets. `workspace`, `analyzer`, `session`: the key of a remote
 * workspace, the key of a monitoring service, the session of an external agent.
 */
const KINDS = ['model', 'tools', 'secret', 'workspace', 'analyzer', 'session', 'other'] as const
export type TokenKind = (typeof KINDS)[number]

/** Tokens of one user. */
export interface UserTokens {
  encrypt(text: string, kind: TokenKind): string
  /** Null for a token of another user, kind or server, and for a changed one. Tokens do not expire. */
  decrypt(token: string, kind: TokenKind): string | null
  /** The kind that this user's token was made for; null for any other text. */
  kindOf(token: string): TokenKind | null
}

/** @param derive a key of 32 bytes for one use, which its name in ASCII identifies */
export function tokensOf(user: string, derive: (use: string) => Uint8Array): UserTokens {
  const made = new Map<TokenKind, Fernet>()
  const fernet = (kind: TokenKind): Fernet => {
    const use = createHash('sha256')
      .update(JSON.stringify([user, kind]))
      .digest('hex')
    const fresh = made.get(kind) ?? makeFernet(derive(`exposed token ${use}`))
    made.set(kind, fresh)
    return fresh
  }
  return {
    encrypt: (text, kind) => fernet(kind).encrypt(text),
    decrypt: (token, kind) => fernet(kind).decrypt(token),
    kindOf: (token) =>
      isFernetToken(token) ? (KINDS.find((kind) => fernet(kind).decrypt(token) !== null) ?? null) : null,
  }
}

const MODEL_FIELD = /^(?:api_key|llm_api_key|critic_api_key|aws_\w+)$/i

/** The kind of a place. `holder`: the object with the member, or the one with the map that has it. */
export function tokenKind(place: SecretPlace, name: string, holder: JsonObject): TokenKind {
  const of = typeof holder.kind === 'string' ? holder.kind : ''
  switch (place) {
    case 'env':
    case 'header':
    case 'auth':
      return 'tools'
    case 'static':
    case 'named':
      return 'secret'
    case 'lookup_header':
      return of === 'LookupSecret' ? 'secret' : 'model'
    case 'field':
      if (name === 'acp_resume_session_id') return 'session'
      if (!MODEL_FIELD.test(name)) return 'other'
      // A server in a list of MCP servers.
      if (of === '' && 'url' in holder) return 'tools'
      if (of === 'RemoteWorkspace') return 'workspace'
      return of.endsWith('Analyzer') ? 'analyzer' : 'model'
  }
}
