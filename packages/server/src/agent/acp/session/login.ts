/** Logs an external agent in with credentials that exist already, never by asking a person. Source: agent-core.md 11.4. */
import { timeoutSignal } from '../../../lib/index.ts'
import type { Workspace } from '../../../workspace/index.ts'
import type { Log } from '../../agent.ts'
import type { Connection } from '../process/connection.ts'
import { AcpFailure, detailOf, isRequestFailure } from '../failure.ts'

const LOGIN_MS = 30_000

export type LoginDeps = {
  /** Ids of the methods that the agent offers. */
  offered: readonly string[]
  env: Readonly<Record<string, string>>
  workspace: Pick<Workspace, 'exec'>
  log: Log
}

/** Runs a shell script in the workspace; null when it fails or prints nothing. */
type RunScript = (script: string) => Promise<string | null>
type Method = {
  id: string
  hasCredential: (env: Readonly<Record<string, string>>, run: RunScript) => boolean | Promise<boolean>
}

/** Login methods by preference. The first that is offered and whose credential exists is used. */
const METHODS: readonly Method[] = [
  { id: 'chat-gpt', hasCredential: hasSubscription },
  { id: 'chatgpt', hasCredential: hasSubscription },
  {
    id: 'vertex-ai',
    hasCredential: async ({ GOOGLE_APPLICATION_CREDENTIALS: file }, run) =>
      file !== undefined && (await run('test -f "$GOOGLE_APPLICATION_CREDENTIALS" && echo yes')) !== null,
  },
  {
    id: 'oauth-personal',
    hasCredential: async (_, run) => (await run('test -f "$HOME/.gemini/oauth_creds.json" && echo yes')) !== null,
  },
  {
    id: 'api-key',
    hasCredential: ({ CODEX_API_KEY, OPENAI_API_KEY }) => isSet(CODEX_API_KEY) || isSet(OPENAI_API_KEY),
  },
  { id: 'codex-api-key', hasCredential: ({ CODEX_API_KEY }) => isSet(CODEX_API_KEY) },
  { id: 'openai-api-key', hasCredential: ({ OPENAI_API_KEY }) => isSet(OPENAI_API_KEY) },
  { id: 'gemini-api-key', hasCredential: ({ GEMINI_API_KEY }) => isSet(GEMINI_API_KEY) },
]

async function hasSubscription(_: unknown, run: RunScript): Promise<boolean> {
  return isSubscription(await run('cat "${CODEX_HOME:-$HOME/.codex}/auth.json"'))
}

const isSet = (value: string | undefined): boolean => value !== undefined && value.trim() !== ''

/** True when the text of an auth file has tokens of a subscription. An API key does not count. */
function isSubscription(text: string | null): boolean {
  if (text === null) return false
  try {
    const { tokens } = JSON.parse(text) as { tokens?: { access_token?: unknown } }
    return typeof tokens?.access_token === 'string'
  } catch {
    // A file that is not JSON has no usable credential.
    return false
  }
}

/** Logs in where the agent offers a method whose credential exists. @throws AcpFailure `ACPAuthRequired`. */
export async function login(
  connection: Pick<Connection, 'request'>,
  { offered, env, workspace, log }: LoginDeps,
  signal: AbortSignal,
): Promise<void> {
  if (offered.length === 0) return
  const run: RunScript = async (script) => {
    const { exit_code, stdout } = await workspace.exec(
      { argv: ['/bin/sh', '-c', script], env, timeoutMs: LOGIN_MS },
      signal,
    )
    return exit_code === 0 && stdout !== '' ? stdout : null
  }
  const method = await firstOf(offered, env, run)
  if (method === null) {
    log.warn({ offered }, 'no credential for a login method of the external agent; it may be logged in already')
    return
  }
  const own = AbortSignal.any([signal, timeoutSignal(LOGIN_MS)])
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

async function firstOf(offered: readonly string[], env: LoginDeps['env'], run: RunScript): Promise<string | null> {
  for (const { id, hasCredential } of METHODS) if (offered.includes(id) && (await hasCredential(env, run))) return id
  return null
}
