/** How an external agent is logged in: with what is there, never by asking a person. Source: agent-core.md 11.4, Authentication. */
import type { Workspace } from '../../workspace/index.ts'
import type { Log } from '../gateway.ts'
import type { Connection } from './connection.ts'
import { AcpFailure, detailOf, isRequestFailure } from './failure.ts'

const LOGIN_MS = 30_000

export type LoginParts = {
  /** Ids of the methods that the agent offers. */
  offered: readonly string[]
  env: Readonly<Record<string, string>>
  workspace: Pick<Workspace, 'exec'>
  log: Log
}

type Look = (script: string) => Promise<string | null>
type Method = { id: string; isThere: (env: Readonly<Record<string, string>>, look: Look) => boolean | Promise<boolean> }

/** In this order; the first that is offered and whose credential is there. */
const METHODS: readonly Method[] = [
  { id: 'chat-gpt', isThere: hasSubscription },
  { id: 'chatgpt', isThere: hasSubscription },
  {
    id: 'vertex-ai',
    isThere: async ({ GOOGLE_APPLICATION_CREDENTIALS: file }, look) =>
      file !== undefined && (await look('test -f "$GOOGLE_APPLICATION_CREDENTIALS" && echo yes')) !== null,
  },
  {
    id: 'oauth-personal',
    isThere: async (_, look) => (await look('test -f "$HOME/.gemini/oauth_creds.json" && echo yes')) !== null,
  },
  { id: 'api-key', isThere: ({ CODEX_API_KEY, OPENAI_API_KEY }) => isSet(CODEX_API_KEY) || isSet(OPENAI_API_KEY) },
  { id: 'codex-api-key', isThere: ({ CODEX_API_KEY }) => isSet(CODEX_API_KEY) },
  { id: 'openai-api-key', isThere: ({ OPENAI_API_KEY }) => isSet(OPENAI_API_KEY) },
  { id: 'gemini-api-key', isThere: ({ GEMINI_API_KEY }) => isSet(GEMINI_API_KEY) },
]

async function hasSubscription(_: unknown, look: Look): Promise<boolean> {
  return isSubscription(await look('cat "${CODEX_HOME:-$HOME/.codex}/auth.json"'))
}

const isSet = (value: string | undefined): boolean => value !== undefined && value.trim() !== ''

/** A file with tokens of a subscription; one with an API key does not count. */
function isSubscription(text: string | null): boolean {
  if (text === null) return false
  try {
    const { tokens } = JSON.parse(text) as { tokens?: { access_token?: unknown } }
    return typeof tokens?.access_token === 'string'
  } catch {
    // No credential that could be used.
    return false
  }
}

/** Logs in where the agent offers a way and the credential for it is there. @throws AcpFailure `ACPAuthRequired`. */
export async function login(
  connection: Pick<Connection, 'request'>,
  parts: LoginParts,
  signal: AbortSignal,
): Promise<void> {
  const { offered, env, workspace, log } = parts
  if (offered.length === 0) return
  const look: Look = async (script) => {
    const { exit_code, stdout } = await workspace.exec(
      { argv: ['/bin/sh', '-c', script], env, timeoutMs: LOGIN_MS },
      signal,
    )
    return exit_code === 0 && stdout !== '' ? stdout : null
  }
  const method = await firstOf(offered, env, look)
  if (method === null) {
    log.warn({ offered }, 'no credential fits a login of the external agent; it may be logged in already')
    return
  }
  const own = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)])
  const gateway = env['GEMINI_BASE_URL']
  const meta = method === 'gemini-api-key' && gateway !== undefined ? { _meta: { gateway: { baseUrl: gateway } } } : {}
  try {
    await connection.request('authenticate', { methodId: method, ...meta }, own)
  } catch (error) {
    if (signal.aborted) throw error
    const reason = isRequestFailure(error) ? detailOf(error) : 'the agent did not answer in time'
    throw new AcpFailure('ACPAuthRequired', `The login '${method}' failed (${reason}). Log in again.`, error)
  }
}

async function firstOf(offered: readonly string[], env: LoginParts['env'], look: Look): Promise<string | null> {
  for (const { id, isThere } of METHODS) if (offered.includes(id) && (await isThere(env, look))) return id
  return null
}
