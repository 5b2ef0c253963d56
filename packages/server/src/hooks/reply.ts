/** What a model's answer to a hook means. Pure. Source: agent-core.md 5.3; F13. */
import type { Verdict } from './verdict.ts'

/** Of a longer answer only the beginning is looked at. */
const MAX_CHARS = 16_384
/** Places at which an object may begin: more of them are no answer, and would take long to look at. */
const MAX_STARTS = 200
const ANSWERED = 0
const NOT_ANSWERED = -1

/** How the model answered; `failure` says why there is no answer to read. */
export type Replied = { text: string; failure: string | null }

/**
 * The first JSON object anywhere in the text decides: `deny` blocks, `allow` does not. Everything else is a failure, and
 * `on_error` decides what a failure means, as with a command: `allow` (the default) lets it pass, `deny` blocks it.
 */
export function verdictOfReply({ text, failure }: Replied, on_error: 'allow' | 'deny'): Verdict {
  const said = failure === null ? firstObject(text.slice(0, MAX_CHARS)) : null
  const decision = typeof said?.['decision'] === 'string' ? said['decision'].toLowerCase() : null
  const isDecided = decision === 'allow' || decision === 'deny'
  const error = failure ?? (said === null ? NO_OBJECT : isDecided ? null : NO_DECISION)
  const isDenied = decision === 'deny'
  const blocked = isDenied || (error !== null && on_error === 'deny')
  return {
    success: error === null,
    blocked,
    exit_code: error === null ? ANSWERED : NOT_ANSWERED,
    reason: (isDecided ? textIn(said?.['reason']) : null) ?? (blocked ? reasonOf(error) : null),
    additional_context: isDecided ? textIn(said?.['additionalContext']) : null,
    error,
  }
}

const NO_OBJECT = 'The model answered without a JSON object.'
const NO_DECISION = 'The decision of the model is neither "allow" nor "deny".'

const reasonOf = (error: string | null): string =>
  error === null ? 'Blocked by hook' : `A hook that has to agree failed: ${error}`

const textIn = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** The first object that can be read, wherever it begins; null when there is none. */
function firstObject(text: string): Record<string, unknown> | null {
  let start = text.indexOf('{')
  for (let left = MAX_STARTS; start !== -1 && left > 0; left--) {
    const end = endOf(text, start)
    const object = end === null ? null : parsed(text.slice(start, end))
    if (object !== null) return object
    start = text.indexOf('{', start + 1)
  }
  return null
}

/** Where the object that begins at `start` ends; null when it does not. */
function endOf(text: string, start: number): number | null {
  let depth = 0
  let isInText = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (isInText) {
      if (char === '\\') at++
      else if (char === '"') isInText = false
    } else if (char === '"') isInText = true
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return at + 1
  }
  return null
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    // A model's text is JSON or it is not; both are answers.
    return null
  }
}
