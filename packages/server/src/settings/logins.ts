/** Login sessions of browsers: tokens that act for a key, and the codes that open them. Source: docs/keys.md, Login sessions. */
import { randomUUID } from 'node:crypto'
import { ParleyError } from '@parley/protocol'
import { hashKey, isSessionToken, makeLoginCode, makeSessionToken } from '../secrets/index.ts'
import type { KeyRow, LoginSessionRow, LoginStore } from '../storage/index.ts'
import type { Identities, Identity } from './identity.ts'

/** Milliseconds from the last use of a session to its end. */
const SESSION_MS = 30 * 24 * 3600_000
/** Milliseconds within which the uses of a session are recorded once, so that requests write nothing. */
const USE_MS = 3600_000
/** Milliseconds from the creation of a code to its end. */
const CODE_MS = 600_000
/** Sessions of one key. Another one ends that which was used least recently. */
const MAX_SESSIONS = 100
/** Unused codes of one key. Another one replaces the oldest. */
const MAX_CODES = 20

/** A session with its token, which is returned only here. `keyId`: of the key that it belongs to. */
export type OpenedLogin = { token: string; session: LoginSessionRow; identity: Identity }

export interface Logins {
  /** The user and role of a key, or of a session token; null when it is not valid, or its key is not. */
  authenticate(keyOrToken: string): Promise<Identity | null>
  /** Like `authenticate`, for the hash of a key or of a token. */
  byHash(hash: string): Promise<Identity | null>
  /** The session of a token; null for a key, and for an invalid token. */
  sessionOf(keyOrToken: string): Promise<LoginSessionRow | null>
  /** The stored key that a key or the session of a token belongs to; null for a key of the environment. */
  keyOf(keyOrToken: string): Promise<KeyRow | null>
  /** Opens a session for a valid key. @throws ParleyError `forbidden` for a session token. */
  open(key: string, label: string | null): Promise<OpenedLogin>
  /** Opens a session with a code, which cannot be used again; null for an unknown, used or expired code, or one of an invalid key. */
  redeem(code: string, label: string | null): Promise<OpenedLogin | null>
  /** A code that opens one session for a valid key within ten minutes. @throws ParleyError `forbidden` for a session token. */
  makeCode(key: string): Promise<{ code: string; expires_at: string }>
  /** Sessions that are valid, oldest first: of the user, or of a key with the role `read-only` those of the key alone. */
  list(actor: Identity): Promise<LoginSessionRow[]>
  /** Ends a session that `list` has. @throws ParleyError `not_found`. */
  end(actor: Identity, id: string): Promise<void>
}

/** @param now the clock that times are read from */
export function openLogins(
  store: LoginStore,
  identities: Pick<Identities, 'authenticate' | 'byHash' | 'rowOf'>,
  now: () => Date,
): Logins {
  /** Ids of sessions whose use is being recorded. */
  const touching = new Set<string>()
  const isOver = ({ expires_at }: { expires_at: string }) => Date.parse(expires_at) <= now().getTime()
  const after = (ms: number) => new Date(now().getTime() + ms).toISOString()

  async function find(hash: string): Promise<{ session: LoginSessionRow; identity: Identity } | null> {
    const session = await store.find(hash)
    if (session === null || isOver(session)) return null
    const identity = await identities.byHash(session.key_hash)
    return identity === null ? null : { session, identity }
  }

  /** Requests do not wait for it. After a failure the next use records it. */
  function recordUse({ id, last_used_at }: LoginSessionRow): void {
    if (now().getTime() - Date.parse(last_used_at) < USE_MS || touching.has(id)) return
    touching.add(id)
    store
      .touch(id, { last_used_at: now().toISOString(), expires_at: after(SESSION_MS) })
      .catch(() => undefined)
      .finally(() => touching.delete(id))
  }

  async function ofToken(token: string): Promise<Identity | null> {
    const found = await find(hashKey(token))
    if (found !== null) recordUse(found.session)
    return found?.identity ?? null
  }

  async function openFor(keyHash: string, label: string | null): Promise<OpenedLogin | null> {
    const identity = await identities.byHash(keyHash)
    if (identity === null) return null
    const { token, hash } = makeSessionToken()
    const at = now().toISOString()
    const session = {
      id: randomUUID(),
      user: identity.user,
      hash,
      key_hash: keyHash,
      label,
      created_at: at,
      last_used_at: at,
      expires_at: after(SESSION_MS),
    }
    await store.create(session, MAX_SESSIONS)
    return { token, session, identity }
  }

  /** The key of the environment may begin like a token. */
  const isKey = async (text: string) => !isSessionToken(text) || (await identities.authenticate(text)) !== null
  const expectKey = async (text: string) => {
    if (!(await isKey(text)))
      throw new ParleyError('forbidden', 'A login session cannot open another one. Use a key, or: parley open')
  }

  const list: Logins['list'] = async ({ user, role, keyId }) => {
    const found: LoginSessionRow[] = []
    for (const session of await store.list(user)) {
      if (isOver(session)) continue
      const identity = await identities.byHash(session.key_hash)
      if (identity !== null && (role !== 'read-only' || identity.keyId === keyId)) found.push(session)
    }
    return found
  }

  return {
    async authenticate(keyOrToken) {
      const login = isSessionToken(keyOrToken) ? await ofToken(keyOrToken) : null
      return login ?? identities.authenticate(keyOrToken)
    },
    byHash: async (hash) => (await identities.byHash(hash)) ?? (await find(hash))?.identity ?? null,
    sessionOf: async (text) => ((await isKey(text)) ? null : ((await find(hashKey(text)))?.session ?? null)),
    async keyOf(text) {
      if (await isKey(text)) return identities.rowOf(hashKey(text))
      const found = await find(hashKey(text))
      return found === null ? null : identities.rowOf(found.session.key_hash)
    },
    async open(key, label) {
      await expectKey(key)
      const opened = await openFor(hashKey(key), label)
      if (opened === null) throw new ParleyError('unauthenticated', 'Unauthorized')
      return opened
    },
    async redeem(code, label) {
      const taken = await store.takeCode(hashKey(code))
      return taken === null || isOver(taken) ? null : openFor(taken.key_hash, label)
    },
    async makeCode(key) {
      await expectKey(key)
      const identity = await identities.authenticate(key)
      if (identity === null) throw new ParleyError('unauthenticated', 'Unauthorized')
      const { code, hash } = makeLoginCode()
      const [created_at, expires_at] = [now().toISOString(), after(CODE_MS)]
      await store.addCode({ hash, user: identity.user, key_hash: hashKey(key), created_at, expires_at }, MAX_CODES)
      return { code, expires_at }
    },
    list,
    async end(actor, id) {
      const isOwn = (await list(actor)).some((session) => session.id === id)
      if (!isOwn || !(await store.remove(actor.user, id)))
        throw new ParleyError('not_found', `No login session has the id ${id}.`)
    },
  }
}
