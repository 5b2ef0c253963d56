/**
 * Secrets for tests, in a form that occurs nowhere else: everything the service writes or sends is searched for it
 * (`watch.ts`), so a
 * test that uses a canary as a secret also shows that the secret does not leak.
 */
import { createHash } from 'node:crypto'

/**
 * Prefix of every canary. Only letters and digits, so that no encoding of text changes it; nine bytes, so that base64
 * does not either.
 */
export const MARK = 'Canary7Qx'

/** The secret behind each canary. Some have characters that JSON, addresses, shells and terminals escape. */
const TAILS = {
  session_key: '',
  other_session_key: '',
  server_secret_key: '',
  llm_key: '',
  profile_key: '',
  guardrail_key: '',
  vendor_key: '',
  search_key: '',
  user_secret: ' "quoted" \\ %2F/é',
  user_secret_2: '',
  conversation_secret: '',
  conversation_secret_2: " $HOME `id` 'x'",
  lookup_answer: '',
  lookup_header: '',
  git_token: '',
  mcp_env: '',
  mcp_header: '',
  webhook_header: '',
  webhook_secret: '',
  remote_key: '',
} as const satisfies Record<string, string>

export type CanaryName = keyof typeof TAILS

export const CANARY_NAMES = Object.keys(TAILS) as CanaryName[]

/** Returns the value of a canary: always the same one. A webhook's secret has the form of such a secret. */
export function canary(name: CanaryName): string {
  const number = String(CANARY_NAMES.indexOf(name)).padStart(2, '0')
  const text = `${MARK}${number}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}${TAILS[name]}`
  return name === 'webhook_secret' ? `whsec_${Buffer.from(text).toString('base64')}` : text
}
