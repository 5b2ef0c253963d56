/** Endpoint rows for logins of browsers. Source: docs/keys.md, Login sessions. */
import { z } from 'zod'
import { text } from '../lax-text.ts'
import { endpoint } from './endpoint.ts'
import { Role } from './keys.ts'

/** Largest body of the rows without a key, in bytes. */
const BODY_BYTES = 16 * 1024

export const LoginSession = z.object({
  id: z.string(),
  label: z.string().nullable(),
  created_at: z.string(),
  /** Recorded once an hour. */
  last_used_at: z.string(),
  /** 30 days after the last use, unless the key ends before. */
  expires_at: z.string(),
})
/** A login of a browser, without its token. */
export type LoginSession = z.infer<typeof LoginSession>

export const OpenedLoginSession = z.object({ token: z.string(), session: LoginSession })
/** A new session. Only this answer contains the token. */
export type OpenedLoginSession = z.infer<typeof OpenedLoginSession>

export const OpenLoginSessionRequest = z.strictObject({
  /** The code of a login link. Absent: the request carries a key. */
  code: text({ min: 1, max: 255 }).optional(),
  /** What the list of sessions shows, such as the name of the browser. */
  label: text({ max: 255 }).nullable().default(null),
})
export type OpenLoginSessionRequest = z.infer<typeof OpenLoginSessionRequest>

export const LoginCode = z.object({ code: z.string(), expires_at: z.string() })
/** A code that opens one session. */
export type LoginCode = z.infer<typeof LoginCode>

export const Me = z.object({
  user: z.string(),
  role: Role,
  /** Null on a server without keys. */
  key: z.object({ id: z.string(), label: z.string().nullable(), expires_at: z.string().nullable() }).nullable(),
  /** Null for a request with a key. */
  session: LoginSession.nullable(),
  /** True: the server answers every request as this user. */
  without_keys: z.boolean(),
  /** What pages may offer: `demo`, and by the configuration of the server `sandbox` and `shared`. */
  features: z.array(z.string()),
  /** True when a request can be sent to the model of new conversations, which is that of the user's settings or of the server. */
  has_model: z.boolean(),
})
/** Who a request is from, and what it may do. */
export type Me = z.infer<typeof Me>

const login = { tag: 'Login' } as const
const path = '/api/auth/sessions'

export const openLoginSession = endpoint({
  operationId: 'openLoginSession',
  ...login,
  auth: 'none',
  method: 'POST',
  path,
  description:
    'Opens a login session with the code of a login link, or with the key in `X-Session-API-Key`. Its token is accepted wherever a key is.',
  body: OpenLoginSessionRequest,
  bodyOptional: true,
  bodyLimitBytes: BODY_BYTES,
  ok: { status: 201, schema: OpenedLoginSession, description: 'With the token, which no other answer contains' },
  errors: [401, 403, 409, 429],
})

export const listLoginSessions = endpoint({
  operationId: 'listLoginSessions',
  ...login,
  auth: 'session_key',
  method: 'GET',
  path,
  description:
    'Lists the login sessions of the user, oldest first; with a key of the role `read-only`, those of the key.',
  ok: { status: 200, schema: z.array(LoginSession), description: 'Those that are valid' },
  errors: [],
})

export const endCurrentLoginSession = endpoint({
  operationId: 'endCurrentLoginSession',
  ...login,
  auth: 'session_key',
  method: 'DELETE',
  path: `${path}/current`,
  description: 'Ends the login session whose token the request carries, and closes its connections.',
  ok: { status: 204, description: 'Ended' },
  errors: [404],
})

export const endLoginSession = endpoint({
  operationId: 'endLoginSession',
  ...login,
  auth: 'session_key',
  method: 'DELETE',
  path: `${path}/{session_id}`,
  description: 'Ends a login session of the user, and closes its connections.',
  params: z.object({ session_id: z.string() }),
  ok: { status: 204, description: 'Ended' },
  errors: [404],
})

export const createLoginCode = endpoint({
  operationId: 'createLoginCode',
  ...login,
  auth: 'session_key',
  method: 'POST',
  path: '/api/auth/codes',
  description: 'Creates a code that opens one login session for the key of the request within ten minutes.',
  ok: { status: 201, schema: LoginCode, description: 'The code, which no other answer contains' },
  errors: [403, 409],
})

export const readMe = endpoint({
  operationId: 'readMe',
  ...login,
  auth: 'session_key',
  method: 'GET',
  path: '/api/me',
  description: 'Returns the user and role of the request, and the key or login session that it carries.',
  ok: { status: 200, schema: Me, description: 'The user' },
  errors: [],
})
