/** Verdicts from a model's replies. Pure. Source: agent-core.md 5.3; F13. */
import type { HookVerdict } from './verdict.ts'

/** Characters that are read; the rest of a longer reply is ignored. */
const MAX_CHARS = 16_384
/** Positions that are tried as the start of an object; bounds the time for a malicious reply. */
const MAX_STARTS = 200
const ANSWERED = 0
const NOT_ANSWERED = -1

/** Reply of a model; `failure` is the reason why there is none. */
export type ModelReply = { text: string; failure: string | null }

/**
 * The first JSON object in the text decides: `deny` blocks, `allow` does not. Everything else is a failure, which `on_error`
 * turns into a verdict, as with a command: `allow` (the default) does not block, `deny` does.
 */
export function verdictOfReply({ text, failure }: ModelReply, on_error: 'allow' | 'deny'): HookVerdict {
  const reply = failure === null ? firstObject(text.slice(0, MAX_CHARS)) : null
  const decision = typeof reply?.['decision'] === 'string' ? reply['decision'].toLowerCase() : null
  const isDecided = decision === 'allow' || decision === 'deny'
  const error = failure ?? (reply === null ? NO_OBJECT : isDecided ? null : NO_DECISION)
  const isDenied = decision === 'deny'
  const blocked = isDenied || (error !== null && on_error === 'deny')
  return {
    success: error === null,
    blocked,
    exit_code: error === null ? ANSWERED : NOT_ANSWERED,
    reason: (isDecided ? textIn(reply?.['reason']) : null) ?? (blocked ? reasonOf(error) : null),
    additional_context: isDecided ? textIn(reply?.['additionalContext']) : null,
    error,
  }
}

const NO_OBJECT = 'The model answered without a JSON object.'
const NO_DECISION = 'The decision of the model is neither "allow" nor "deny".'

const reasonOf = (error: string | null): string =>
  error === null ? 'Blocked by hook' : `A hook that has to agree failed: ${error}`

const textIn = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null

/** The first parseable object in the text; null when there is none. */
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

/** Index after the object that begins at `start`; null when it is incomplete. */
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
    return null
  }
}
