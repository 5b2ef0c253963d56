/** Trying a model and storing it as that of the settings. */
import { server } from './server.ts'

export type ModelSettings = {
  /** With the prefix of its provider. */
  readonly model: string
  /** Null: the address of the provider. */
  readonly baseUrl: string | null
  /** `KEPT`: the stored key. Null: none. Never kept in the browser. */
  readonly key: string | null
}

/** Stands for the stored key, which no answer of the server contains. */
export const KEPT = '**********'

/** What a try showed. */
type TrialResult = 'works' | 'key' | 'model' | 'credit' | 'unreachable' | 'slow' | 'busy' | 'incomplete' | 'refused'
export type Trial = {
  readonly result: TrialResult
  /** The words of the server of the model, or of this server. */
  readonly detail: string
}

/** Advice for clients of the API, which has other names for the fields. */
const API_ADVICE = /; (check|set) `llm_[^]*$/

type Report = { type: string; message: string }
type Answer = { valid: boolean; error: Report | null; unconfirmed?: Report }

/**
 * Sends one short request to the model.
 * @throws ServerError when this server refuses to try
 */
export async function tryModel({ model, baseUrl, key }: ModelSettings, signal?: AbortSignal): Promise<Trial> {
  const body = { llm: { model, base_url: baseUrl, api_key: key } }
  const answer = (await server.call('POST', '/api/profiles/model/validate', { body, signal })) as Answer
  const report = answer.error ?? answer.unconfirmed
  if (report === undefined || report === null) return { result: 'works', detail: '' }
  return { result: resultOf(report, answer.valid), detail: report.message.replace(API_ADVICE, '') }
}

function resultOf({ type, message }: Report, mayWork: boolean): TrialResult {
  switch (type) {
    case 'LLMAuthenticationError':
      return 'key'
    case 'LLMNotConfigured':
    case 'ValidationError':
      return 'incomplete'
    case 'LLMRateLimitError':
      return mayWork ? 'busy' : 'credit'
    case 'LLMTimeoutError':
      return 'slow'
    case 'LLMServiceUnavailableError':
      return /HTTP \d/.test(message) ? 'busy' : 'unreachable'
    default:
      if (/HTTP 402/.test(message)) return 'credit'
      return /HTTP 404|model.{0,60}(not found|not exist|unknown|invalid)|no such model/is.test(message)
        ? 'model'
        : 'refused'
  }
}

/**
 * Stores the model for conversations that start later, and for `conversation` from its next step on.
 * @throws ServerError with status 422 and the members that do not fit
 */
export async function storeModel({ model, baseUrl, key }: ModelSettings, conversation: string | null): Promise<void> {
  await server.call('POST', '/api/settings', {
    body: { llm_model: model, llm_base_url: baseUrl, ...(key === KEPT ? {} : { llm_api_key: key }) },
  })
  // A conversation keeps the model that it started with. A stored key cannot be sent to it.
  if (conversation === null || key === KEPT) return
  const llm = { model, base_url: baseUrl, api_key: key, usage_id: 'agent', stream: true }
  await server.call('POST', `/api/conversations/${encodeURIComponent(conversation)}/switch_llm`, { body: { llm } })
}
