/**
 * Decides what follows an answer of the model, by how it ended. Pure. Source: agent-core.md 1.8.
 *
 * Rules
 *   A1. A call that was cut off is never executed; the complete calls of its answer are.
 *   A2. A text ends the run only when the model ended it: one that was cut off is kept and continued.
 *   A3. The model is asked again at most three times in a row for the same kind of end; then the run fails, or the text counts.
 *   A4. Nothing of a refused answer is executed.
 *   A5. The request after an answer that was cut off at its output limit may have a longer answer.
 */
import type { TreeEvent } from '@parley/protocol'
import { parseRecord } from '../../lib/index.ts'
import { LlmError, type LlmAnswer, type LlmCall } from '../../llm/index.ts'

/** Requests in a row after an answer that did not end by itself. */
const MAX_AGAIN = 3
/** Characters of a refusal that its error quotes. */
const QUOTED_CHARS = 500

export type AnswerEnd =
  /** Prepare the calls; those that were cut off get an error. */
  | { kind: 'calls'; isFull: boolean }
  /** The text is the answer. */
  | { kind: 'finished' }
  /** Keep the text, and ask the model again. */
  | { kind: 'again'; notice: string; isFull: boolean }
  /** Record the cost, and end the run with the error. */
  | { kind: 'failed'; error: LlmError; keepsText: boolean }

type Ended = Pick<LlmAnswer, 'text' | 'toolCalls' | 'finishReason' | 'raw'> & {
  model: string
  /** Tokens of the answer; 0 when unknown. */
  tokens: number
  /** The problem of a call that the model wrote as text; null when there is none. */
  writtenCall: string | null
}

type Problem = 'full' | 'cut' | 'thinking' | 'malformed' | 'written' | 'lost' | 'commentary' | 'empty'

/** First sentences of the notices, by which they are recognised later. */
const HEADS = {
  full: 'Your last answer was cut off because the context window was full.',
  cut: 'Your last answer was cut off at its output limit.',
  thinking: 'Your last answer reached its output limit before it held a text or a tool call.',
  malformed: 'The provider of your model could not read the tool call in your last answer.',
  written: 'Your last answer holds a tool call that is written as text, and it was not executed.',
  lost: 'Your last answer announced a tool call, but none arrived.',
  commentary: 'Your last answer was a commentary without a tool call.',
} as const satisfies Record<Exclude<Problem, 'empty'>, string>

const EMPTY =
  'Your last answer held neither a tool call nor a text. Call a tool to go on, or say what you have to say; ' +
  'call finish when the task is done.'

const NEXT: Record<Exclude<Problem, 'empty'>, string> = {
  full: 'It is kept as it is, and earlier parts of the conversation were summarised. Continue exactly where it stopped, and repeat nothing.',
  cut: 'It is kept as it is. Continue exactly where it stopped, and repeat nothing.',
  thinking: 'Think less, and give the next tool call or your answer. Write a long file in several calls.',
  malformed: 'Make the call again with plain JSON arguments. Write a long file in several calls.',
  written: 'Make it again as a tool call, not in the text.',
  lost: 'Make the call again; call finish, or answer in words, when the task is done.',
  commentary: 'Go on with the task; call finish, or give your final answer, when it is done.',
}

/** Returns what follows an answer. @param earlier notices about the end of an answer that precede it without a call in between */
export function endOf(answer: Ended, earlier: number): AnswerEnd {
  const { finishReason, toolCalls, text } = answer
  if (finishReason === 'content-filter') return { kind: 'failed', error: refusal(answer), keepsText: false }
  const isFull = finishReason === 'context-window'
  // Calls beside one that the vendor could not read are no more certain than that one.
  if (toolCalls.length > 0 && finishReason !== 'malformed-call') return { kind: 'calls', isFull }
  const problem = problemOf(answer)
  if (problem === null) return { kind: 'finished' }
  if (problem === 'empty') return { kind: 'again', notice: EMPTY, isFull }
  if (earlier < MAX_AGAIN) return { kind: 'again', notice: noticeOf(problem, answer), isFull }
  const hasText = text.trim() !== ''
  if (hasText && (problem === 'lost' || problem === 'commentary')) return { kind: 'finished' }
  return { kind: 'failed', error: exhausted(problem, answer), keepsText: hasText }
}

function problemOf({ finishReason, text, raw, writtenCall }: Ended): Problem | null {
  const hasText = text.trim() !== ''
  if (finishReason === 'context-window') return 'full'
  if (writtenCall !== null) return 'written'
  if (finishReason === 'length') return hasText ? 'cut' : 'thinking'
  if (finishReason === 'malformed-call') return 'malformed'
  if (!hasText) return 'empty'
  if (finishReason === 'tool-calls') return 'lost'
  return isCommentary(raw) ? 'commentary' : null
}

/** The Responses API marks texts that only announce work. */
function isCommentary(raw: Ended['raw']): boolean {
  const texts = (raw?.parts ?? []).filter((part) => part.type === 'text')
  return texts.length > 0 && texts.every(({ phase }) => phase === 'commentary')
}

function noticeOf(problem: Exclude<Problem, 'empty'>, { tokens, writtenCall }: Ended): string {
  const isLimit = problem === 'cut' || problem === 'thinking'
  const detail = isLimit && tokens > 0 ? ` It has ${tokens} tokens.` : problem === 'written' ? ` ${writtenCall}` : ''
  return `${HEADS[problem]}${detail} ${NEXT[problem]}`
}

/** The number of notices about the end of an answer at the end of a view, without a call or a message of a person in between. */
export function endsInARow(view: readonly TreeEvent[]): number {
  let count = 0
  for (const event of view.toReversed()) {
    if (event.kind === 'CondensationSummaryEvent') continue
    if (event.kind !== 'MessageEvent' || event.source === 'user') break
    if (isEndNotice(event)) count += 1
  }
  return count
}

/** Returns whether an event is a notice about the end of an answer. Such notices are limited in number (A3). */
export function isEndNotice(event: TreeEvent): boolean {
  const text = noticeText(event)
  return Object.values(HEADS).some((head) => text.startsWith(head))
}

/** The text of a notice; empty for any other event. */
function noticeText(event: TreeEvent): string {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return ''
  const [first] = event.llm_message.content
  return first?.type === 'text' ? first.text : ''
}

/**
 * Returns the tokens of the newest answer of a view if it was cut off at its output limit (A5), 0 where they are unknown; null if it was
 * not. The notices and errors of the log say it, so that a restarted server decides the same.
 */
export function cutAnswerIn(view: readonly TreeEvent[]): number | null {
  const cutCalls = new Map<string, number>()
  let newest: string | null = null
  for (let at = view.length - 1; at >= 0; at--) {
    const event = view[at]!
    if (event.kind === 'ActionEvent') {
      newest ??= event.llm_response_id
      if (event.llm_response_id !== newest) return null
      const tokens = cutCalls.get(event.tool_call_id)
      if (tokens !== undefined) return tokens
      continue
    }
    const tokens = cutTokens(event)
    if (event.kind === 'AgentErrorEvent' && tokens !== null) cutCalls.set(event.tool_call_id, tokens)
    else if (tokens !== null) return newest === null ? tokens : null
    else if (event.kind === 'MessageEvent' && event.source === 'agent') return null
  }
  return null
}

/** Reads the notice or the error about an answer that was cut off; null for any other event. */
function cutTokens(event: TreeEvent): number | null {
  const text = event.kind === 'AgentErrorEvent' ? event.error : noticeText(event)
  const isError = event.kind === 'AgentErrorEvent' && /^This call of \S+ was cut off\b/.test(text)
  const isCut = isError || text.startsWith(HEADS.cut) || text.startsWith(HEADS.thinking)
  return isCut ? Number(/ (?:It has|cut off after) (\d+) tokens\b/.exec(text)?.[1] ?? 0) : null
}

function refusal({ model, text }: Ended): LlmError {
  const quote = text.trim() === '' ? '' : ` It wrote: ${text.trim().slice(0, QUOTED_CHARS)}`
  return new LlmError(
    'LLMRefusalError',
    `${model} refused to answer, or its provider filtered the answer. Send another message, or choose another model.${quote}`,
  )
}

function exhausted(problem: Exclude<Problem, 'empty'>, { model, tokens }: Ended): LlmError {
  const times = `${MAX_AGAIN + 1} times in a row`
  switch (problem) {
    case 'full':
      return new LlmError(
        'LLMContextWindowExceedError',
        `${model}: the context window was full before the answer ended, ${times}. Choose a model with a larger window.`,
      )
    case 'cut':
    case 'thinking': {
      const limit = tokens > 0 ? ` of ${tokens} tokens` : ''
      return new LlmError(
        'LLMOutputLimitError',
        `${model}: the answer was cut off at its output limit${limit}, ${times}. Set a larger max_output_tokens.`,
      )
    }
    default:
      return new LlmError(
        'LLMMalformedCallError',
        `${model}: the answer held a tool call that could not be read, ${times}. A local server needs the tool call parser of its model; ` +
          'native_tool_calling: false describes the tools as text.',
      )
  }
}

/** Returns whether a call of an answer was cut off: it is incomplete, and what followed is missing. */
export function isCutCall(
  call: LlmCall,
  index: number,
  { toolCalls, finishReason }: Pick<Ended, 'toolCalls' | 'finishReason'>,
): boolean {
  if (call.isCut === true) return true
  const isLimited = finishReason === 'length' || finishReason === 'context-window'
  return endsInside(call.arguments) || (isLimited && index === toolCalls.length - 1 && isIncomplete(call))
}

/** The result of a call that was cut off. */
export function cutError(name: string, { finishReason, tokens }: Pick<Ended, 'finishReason' | 'tokens'>): string {
  const after = tokens > 0 ? ` after ${tokens} tokens` : ''
  const isLimited = finishReason === 'length' || finishReason === 'context-window'
  const why = isLimited
    ? `This call of ${name} was cut off${after}, because the answer reached its output limit.`
    : `The arguments of this call of ${name} end before they are complete.`
  return (
    `${why} It was not executed. Make it again with complete and shorter arguments: ` +
    'write a long file in parts, for example create it with its first part and add each further part with another call.'
  )
}

/** A call is complete when its arguments are a JSON object, an edit has its new text, and a patch its end. */
function isIncomplete({ arguments: text }: LlmCall): boolean {
  const args = parseRecord(text)
  if (args === null) return true
  const { patch } = args
  const isOpenPatch = typeof patch === 'string' && !patch.includes('*** End Patch')
  return isOpenPatch || ('old_str' in args && !('new_str' in args))
}

/** Returns whether a text is the beginning of a JSON object, whatever the finish reason says; some servers report cut calls as complete. */
function endsInside(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at += 1
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') depth -= 1
  }
  return inString || depth > 0
}
