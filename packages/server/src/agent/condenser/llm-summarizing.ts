/**
 * Replaces the older part of a view by a summary that a model writes. Source: agent-core.md 3.2.
 *
 * Invariants
 *   C1. The system prompt is never forgotten (F34), nor is a call that waits for its result.
 *   C2. A summary is never empty (F62), and it replaces more than another summary.
 *   C3. The usage of every attempt is reported, also of failed ones.
 */
import type { Draft, GivenBack, LLMSummarizingCondenser, TreeEvent } from '@parley/protocol'
import { LlmError, type Llm, type LlmAnswer, type LlmRequest } from '../../llm/index.ts'
import { usage } from '../drafts.ts'
import { isSameModel } from '../same-model.ts'
import { truncateMiddle } from '../truncate.ts'
import type { Log } from '../../observability/index.ts'
import type { CondensationDraft, Condenser, CondenserInput, CondenserResult } from './condenser.ts'
import { givenBack } from './given-back.ts'
import { hardRange, reasonsFor, softRange, tokenLimit, type Range } from './plan.ts'
import { CAPS, recordText, UNCAPPED, type Caps } from './record-text.ts'
import { isWorthAnotherForm, prefixRequest, summaryIn } from './shared-prefix.ts'
import { summaryRequest } from './summary-prompt.ts'

/** Number of new events before a failed attempt that was not urgent is repeated. */
const EVENTS_BEFORE_RETRY = 10
/** A conservative estimate, because providers count tokens differently. */
const CHARS_PER_TOKEN = 3
/** Share of the model's window for the record; the rest is for instructions and the summary. */
const RECORD_SHARE = 0.7
/** Characters of a summary and of what follows it, and the share of the view's limit that each may fill, so that the view becomes shorter. */
const SUMMARY = { most: 40_000, share: 0.2 }
const GIVEN_BACK = { most: 24_000, share: 0.1 }

export class SummarizingCondenser implements Condenser {
  readonly handlesRequests = true
  readonly #config: LLMSummarizingCondenser
  readonly #llm: Llm
  readonly #log: Pick<Log, 'warn'>
  #notBefore = 0

  constructor(config: LLMSummarizingCondenser, llm: Llm, log: Pick<Log, 'warn'>) {
    this.#config = config
    this.#llm = llm
    this.#log = log
  }

  async condense(situation: CondenserInput, signal: AbortSignal): Promise<CondenserResult> {
    const { next: ofAgent } = situation
    const isShared = ofAgent !== null && isSameModel(this.#config.llm, ofAgent.llm)
    const input = { ...situation, next: isShared ? ofAgent : null }
    const reasons = reasonsFor(input, this.#config)
    const isUrgent = reasons.has('request') || reasons.has('tokens')
    const { length } = input.view
    if (reasons.size === 0 || (!isUrgent && length < this.#notBefore)) return { kind: 'keep', spent: [] }
    const spent: Draft[] = []
    let failure: LlmError = nothingToForget()
    const attempts: [Range | null, Caps][] = [[softRange(input, this.#config, reasons), CAPS]]
    if (isUrgent) attempts.push([hardRange(input.view), UNCAPPED])
    let { next } = input
    for (const [range, caps] of attempts) {
      if (range === null) continue
      const forgotten = input.view.slice(range.start, range.end)
      try {
        const { responseId, text } =
          (await this.#overPrefix({ ...input, next }, range, spent, signal)) ??
          (await this.#ofRecord(forgotten, caps, input, spent, signal))
        const summary = truncateMiddle(text, this.#chars(input, SUMMARY))
        const given = givenBack(input.view, range, this.#chars(input, GIVEN_BACK))
        this.#notBefore = 0
        return {
          kind: 'condensed',
          spent,
          condensation: condensationOf(input.view, range, { summary, responseId, given }),
        }
      } catch (error) {
        if (signal.aborted || !(error instanceof LlmError)) throw error
        this.#log.warn({ err: error, events: forgotten.length }, 'conversation summary failed')
        failure = error
      }
      // What the model did not do once over this prefix costs too much to ask for again.
      next = null
    }
    if (isUrgent) return { kind: 'failed', spent, error: explained(failure) }
    this.#notBefore = length + EVENTS_BEFORE_RETRY
    return { kind: 'keep', spent }
  }

  /** Asks over the agent's own prefix. Null when that is impossible, or the answer is no summary. @throws LlmError */
  async #overPrefix(
    input: CondenserInput,
    range: Range,
    spent: Draft[],
    signal: AbortSignal,
  ): Promise<WrittenSummary | null> {
    const request = prefixRequest(input, range)
    if (request === null) return null
    try {
      const answer = await this.#complete(request, spent, signal)
      const text = summaryIn(answer, request)
      if (text !== null) return { responseId: answer.responseId, text }
      this.#log.warn({ finish_reason: answer.finishReason }, 'answer over the cached prefix is no summary')
    } catch (error) {
      if (signal.aborted || !(error instanceof LlmError) || !isWorthAnotherForm(error.code)) throw error
      this.#log.warn({ err: error }, 'request for a summary over the cached prefix refused')
    }
    return null
  }

  /** Asks with a record of the events, and again with less of them while it is too long. @throws LlmError */
  async #ofRecord(
    events: readonly TreeEvent[],
    caps: Caps,
    { inputLimit }: CondenserInput,
    spent: Draft[],
    signal: AbortSignal,
  ): Promise<WrittenSummary> {
    const { hard_context_reset_max_retries: tries, hard_context_reset_context_scaling: scaling, llm } = this.#config
    const window = llm.max_input_tokens ?? inputLimit
    let maxChars = window === null ? Infinity : window * RECORD_SHARE * CHARS_PER_TOKEN
    for (let attempt = 1; ; attempt++) {
      const record = recordText(events, caps, maxChars)
      try {
        const answer = await this.#complete({ messages: summaryRequest(record), tools: [] }, spent, signal)
        const text = answer.text.trim()
        if (text === '') throw new LlmError('LLMNoResponseError', `${this.#llm.model}: the summary was empty`)
        return { responseId: answer.responseId, text }
      } catch (error) {
        const isTooLong = error instanceof LlmError && error.code === 'LLMContextWindowExceedError'
        if (!isTooLong || attempt >= tries) throw error
        maxChars = record.length * scaling
      }
    }
  }

  async #complete(request: LlmRequest, spent: Draft[], signal: AbortSignal): Promise<LlmAnswer> {
    const answer = await this.#llm.complete(request, () => undefined, signal)
    spent.push(usage(answer, answer.responseId, this.#llm))
    return answer
  }

  /** Characters of a part of the shortened view. */
  #chars(input: CondenserInput, { most, share }: typeof SUMMARY): number {
    const limit = tokenLimit(this.#config, input)
    return limit === null ? most : Math.min(most, Math.floor(limit * share * CHARS_PER_TOKEN))
  }
}

type WrittenSummary = { responseId: string; text: string }

function condensationOf(
  view: readonly TreeEvent[],
  { start, end }: Range,
  { summary, responseId, given }: { summary: string; responseId: string; given: GivenBack | undefined },
): CondensationDraft {
  return {
    kind: 'Condensation',
    source: 'environment',
    forgotten_event_ids: view.slice(start, end).map(({ id }) => id),
    summary,
    summary_offset: start,
    llm_response_id: responseId,
    ...(given === undefined ? {} : { given_back: given }),
  }
}

const nothingToForget = () =>
  new LlmError(
    'LLMContextWindowExceedError',
    'there is nothing left in it that could be left out. Use a model with a larger window, or start a new conversation.',
  )

function explained(failure: LlmError): LlmError {
  return new LlmError(failure.code, `Shortening the conversation failed: ${failure.message}`, { cause: failure })
}
