/** What a person can do about a failure. Source: agent-server-wire.md 4.5 (ErrorClassification). */
import { z } from 'zod'

export const ErrorClassification = z.strictObject({
  kind: z.enum(['auth', 'quota', 'rate_limit', 'config', 'transient', 'agent_action', 'internal', 'unknown']),
  retryable: z.boolean(),
  user_action: z.enum(['none', 'retry', 'settings']).default('none'),
  error_id: z.string().nullable().default(null),
})
export type ErrorClassification = z.infer<typeof ErrorClassification>

type Verdict = Pick<ErrorClassification, 'kind' | 'retryable' | 'user_action'>

const AUTH: Verdict = { kind: 'auth', retryable: false, user_action: 'settings' }
const RATE_LIMIT: Verdict = { kind: 'rate_limit', retryable: true, user_action: 'retry' }
const QUOTA: Verdict = { kind: 'quota', retryable: false, user_action: 'settings' }
const CONFIG: Verdict = { kind: 'config', retryable: false, user_action: 'settings' }
const HISTORY: Verdict = { kind: 'agent_action', retryable: true, user_action: 'retry' }
const LIMIT: Verdict = { kind: 'agent_action', retryable: false, user_action: 'none' }
const INTERNAL: Verdict = { kind: 'internal', retryable: false, user_action: 'none' }
const TRANSIENT: Verdict = { kind: 'transient', retryable: true, user_action: 'retry' }
const UNKNOWN: Verdict = { kind: 'unknown', retryable: false, user_action: 'none' }

const BY_CODE = new Map<string, Verdict>([
  ['LLMAuthenticationError', AUTH],
  ['ACPAuthRequired', AUTH],
  ['LLMRateLimitError', RATE_LIMIT],
  ['MaxBudgetReached', QUOTA],
  ['LLMBadRequestError', CONFIG],
  ['LLMNotConfigured', CONFIG],
  ['ACPInitError', CONFIG],
  ['ACPSpawnError', CONFIG],
  ['ACPPromptError', CONFIG],
  ['NotFoundError', CONFIG],
  ['LibTmuxException', CONFIG],
  ['LLMContextWindowExceedError', HISTORY],
  ['LLMMalformedConversationHistoryError', HISTORY],
  ['MaxIterationsReached', LIMIT],
  ['AgentStuck', LIMIT],
  ['ConversationOwnershipLostError', LIMIT],
  ['KeyError', INTERNAL],
  ['AssertionError', INTERNAL],
  ['PydanticSerializationError', INTERNAL],
  ['AttributeError', INTERNAL],
  ['TypeError', INTERNAL],
])

const BY_DETAIL: readonly (readonly [RegExp, Verdict])[] = [
  [
    /(?:invalid|incorrect|missing|bad|no|expired) (?:\w+ )?api[ _-]?key|api[ _-]?key (?:is )?(?:not|missing|invalid)|unauthorized|\b401\b/i,
    AUTH,
  ],
  [/insufficient (?:credit|fund|balance|quota)|out of credit|credits? (?:exhausted|depleted)|quota|budget/i, QUOTA],
  [/rate[ _-]?limit|too many requests|\b429\b/i, RATE_LIMIT],
  [
    /(?:unknown|unsupported|invalid) (?:model|provider)|model\b.{0,80}\b(?:not found|does not exist)|provider not provided|inactive_service/i,
    CONFIG,
  ],
  [
    /time[ds]?[ -]?out|connection|econn|enotfound|socket hang up|bad gateway|service unavailable|overloaded|internal server error|\b5\d\d\b/i,
    TRANSIENT,
  ],
]

/** Error classes of providers and transports that say no more than that something went wrong on the way. */
const GENERIC = new Set([
  'LLMError',
  'LLMServiceUnavailableError',
  'LLMTimeoutError',
  'LLMNoResponseError',
  'APIError',
  'APIConnectionError',
  'ServiceUnavailableError',
  'InternalServerError',
  'Timeout',
  'TimeoutError',
  'ConnectionError',
  'FetchError',
])

/** The class of a run-level failure from its code and its text; the first rule that matches wins. */
export function classify(code: string, detail: string): ErrorClassification {
  const verdict =
    BY_CODE.get(code) ??
    BY_DETAIL.find(([pattern]) => pattern.test(detail))?.[1] ??
    (GENERIC.has(code) ? TRANSIENT : UNKNOWN)
  return { ...verdict, error_id: null }
}
