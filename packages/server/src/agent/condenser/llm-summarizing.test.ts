import { LLMSummarizingCondenser, textOf, type Draft, type LLMInput, type TreeEvent } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LlmError, type Llm, type LlmMessage, type LlmRequest } from '../../llm/index.ts'
import {
  callEvent,
  condensationEvent,
  ids,
  resultEvent,
  prompt,
  requestEvent,
  messageEvent,
} from '../view/events.testing.ts'
import { historyOf } from '../view/history.testing.ts'
import { enforceProperties } from '../view/view-properties.ts'
import { View } from '../view/view.ts'
import type { CondenserInput, CondenserResult } from './condenser.ts'
import { SummarizingCondenser } from './llm-summarizing.ts'
import { TokenMeter } from './tokens.ts'

const never = new AbortController().signal
const llm: LLMInput = { model: 'openai/summariser', usage_id: 'condenser' }
type Options = Partial<Omit<LLMSummarizingCondenser, 'llm' | 'kind'>>
const configOf = (options: Options = {}) => LLMSummarizingCondenser.parse({ llm, ...options })

/** A model that answers with the text of `reply`, or fails with its error. */
function modelOf(reply: (text: string, nth: number) => string | LlmError): Llm & { requests: LlmRequest[] } {
  const requests: LlmRequest[] = []
  return {
    model: 'openai/summariser',
    usageId: 'condenser',
    requests,
    async complete(request) {
      requests.push(request)
      const said = reply(requestText(request.messages.at(-1)!), requests.length)
      if (said instanceof LlmError) throw said
      const tokens = { model: 'm', prompt_tokens: 9, completion_tokens: 1, cache_read_tokens: 0 }
      return {
        responseId: `summary-${requests.length}`,
        text: said,
        reasoning: null,
        raw: null,
        toolCalls: [],
        finishReason: 'stop',
        usage: {
          tokens: { ...tokens, cache_write_tokens: 0, reasoning_tokens: 0, context_window: 0, per_turn_token: 10 },
          costUsd: 0.5,
          latency: 0,
        },
      }
    },
  }
}
const requestText = ({ content }: LlmMessage) => textOf(content, { separator: '' })

const tooLong = new LlmError('LLMContextWindowExceedError', 'prompt is too long')
const broken = new LlmError('LLMAuthenticationError', 'no such key')
const silent = { warn: () => undefined }

async function ask(
  view: readonly TreeEvent[],
  {
    options = {},
    model = modelOf(() => 'in short'),
    ...situation
  }: { options?: Options; model?: Llm } & Partial<CondenserInput>,
): Promise<CondenserResult> {
  const condenser = new SummarizingCondenser(configOf(options), model, silent)
  return condenser.condense(
    { view, isRequested: false, inputLimit: null, meter: new TokenMeter([]), next: null, ...situation },
    never,
  )
}

/** A prompt, the person's request, and `count` calls with results of `size` characters. */
function work(count: number, size = 40, isThinking: (n: number) => boolean = () => false): TreeEvent[] {
  const events: TreeEvent[] = [prompt(), messageEvent('task', 'build it')]
  for (let n = 0; n < count; n++) {
    const action = callEvent(`a${n}`, `r${n}`, { isThinking: isThinking(n) })
    events.push(action, resultEvent(`o${n}`, action, 'x'.repeat(size)))
  }
  return events
}

const forgottenBy = (verdict: CondenserResult): string[] =>
  verdict.kind === 'condensed' ? [...verdict.condensation.forgotten_event_ids] : []
const kinds = (drafts: readonly Draft[]) => drafts.map(({ kind }) => kind)

describe('range of a condensation', () => {
  test('a short view stays unchanged without a request to a model', async () => {
    const model = modelOf(() => 'never')
    expect(await ask(work(10), { options: { max_size: 30 }, model })).toEqual({ kind: 'keep', spent: [] })
    expect(model.requests).toEqual([])
  })

  test('a view with too many events keeps its first events and half of the allowed number', async () => {
    const view = work(15)
    const verdict = await ask(view, { options: { max_size: 20, keep_first: 2 } })
    // 20 / 2 - 2 - 1 = 7 at the end, reduced to 6 because a pair must not be cut.
    expect(forgottenBy(verdict)).toEqual(ids(view.slice(2, 26)))
    expect(verdict).toMatchObject({
      condensation: { summary: 'in short', summary_offset: 2, llm_response_id: 'summary-1' },
    })
    expect(verdict.spent).toMatchObject([{ kind: 'UsageRecordedEvent', usage_id: 'condenser', cost: 0.5 }])
    expect(verdict.spent[0]).not.toHaveProperty('seen_seq')
  })

  test('the tail stays when the model thought about the first call only', async () => {
    const view = work(15, 40, (n) => n === 0)
    const verdict = await ask(view, { options: { max_size: 20, keep_first: 2 } })
    expect(forgottenBy(verdict)).toEqual(ids(view.slice(2, 26)))
  })

  test('the tail begins with a call that the model thought about, if one is near', async () => {
    const view = work(15, 40, (n) => n % 5 === 3)
    const verdict = await ask(view, { options: { max_size: 20, keep_first: 2 } })
    expect(view.find(({ id }) => !forgottenBy(verdict).includes(id) && id.startsWith('a'))?.id).toBe('a13')
  })

  test('a view with too many tokens keeps less than half of the token limit', async () => {
    const view = work(20, 4000)
    const meter = new TokenMeter([])
    const verdict = await ask(view, { options: { max_tokens: 10_000 }, meter })
    const forgotten = new Set(forgottenBy(verdict))
    expect(meter.view(view.filter(({ id }) => !forgotten.has(id)))).toBeLessThan(5000)
    expect(forgotten.has('system') || forgotten.has('task')).toBe(false)
  })

  test("the limit of a view is the smaller one of the model's window and the configuration", async () => {
    const view = work(10, 4000)
    expect((await ask(view, { inputLimit: 5000 })).kind).toBe('condensed')
    expect((await ask(view, { inputLimit: 50_000 })).kind).toBe('keep')
    expect((await ask(view, { inputLimit: 50_000, options: { max_tokens: 5000 } })).kind).toBe('condensed')
    expect((await ask(view, { inputLimit: 5000, options: { max_tokens: 50_000 } })).kind).toBe('condensed')
  })

  test('a view that leaves no room for the instruction behind it is condensed, except in a small window', async () => {
    const next = (limit: number, model = 'openai/summariser') => ({
      next: { llm: { ...configOf().llm, model }, request: () => ({ messages: [], tools: [] }), limit },
      inputLimit: limit,
    })
    const view = work(40, 4500)
    const tokens = new TokenMeter([]).view(view)
    expect((await ask(view, next(tokens + 4000))).kind).toBe('condensed')
    expect((await ask(view, next(tokens + 4200))).kind).toBe('keep')
    expect((await ask(view, next(tokens + 4000, 'openai/other'))).kind).toBe('keep')
    const small = work(10, 4500)
    expect((await ask(small, next(new TokenMeter([]).view(small) + 4000))).kind).toBe('keep')
  })

  test('a requested condensation halves the events and the text, wherever the text is', async () => {
    const [long, light] = [callEvent('long', 'rl'), work(8)]
    const view = [...light, long, resultEvent('big', long, 'x'.repeat(40_000)), ...work(1).slice(2)]
    const verdict = await ask(view, { isRequested: true })
    expect(forgottenBy(verdict)).toContain('big')
  })

  test('a condensation keeps the system prompt, also when nothing else is kept', async () => {
    const view = work(20)
    expect(forgottenBy(await ask(view, { options: { keep_first: 0, max_size: 10 } }))).not.toContain('system')
    expect(forgottenBy(await ask(view.slice(0, 4), { isRequested: true }))).toEqual(ids(view.slice(1, 4)))
  })

  test('a condensation keeps a call that waits for its result', async () => {
    const view = [...work(1), callEvent('open', 'r-open')]
    expect(forgottenBy(await ask(view, { isRequested: true }))).toEqual(['task', 'a0', 'o0'])
  })

  test('a summary never replaces a lone summary', async () => {
    const view = new View()
    for (const event of [...work(2), condensationEvent('c', work(2).slice(1), 'all of it', 1)]) view.append(event)
    const verdict = await ask(view.events(), { isRequested: true })
    expect(verdict).toMatchObject({ kind: 'failed', error: { code: 'LLMContextWindowExceedError' } })
  })

  test('a range smaller than minimum_progress is not condensed', async () => {
    expect(await ask(work(11), { options: { max_size: 22, minimum_progress: 0.9 } })).toEqual({
      kind: 'keep',
      spent: [],
    })
  })
})

describe('failed summaries', () => {
  const view = work(15)
  const soft = { options: { max_size: 20 } }
  const hard = { isRequested: true }

  test.each<[string, Llm]>([
    ['a failed summary', modelOf(() => broken)],
    ['an empty summary', modelOf(() => '  \n')],
  ])('%s leaves a view unchanged that has only too many events', async (_name, model) => {
    expect((await ask(view, { ...soft, model })).kind).toBe('keep')
  })

  test('an empty summary is counted and discarded, and an urgent condensation then fails with the reason', async () => {
    const verdict = await ask(view, { ...hard, model: modelOf(() => '') })
    expect(verdict).toMatchObject({ kind: 'failed', error: { code: 'LLMNoResponseError' } })
    // First the usual range was tried, then everything.
    expect(kinds(verdict.spent)).toEqual(['UsageRecordedEvent', 'UsageRecordedEvent'])
    expect(await ask(view, { ...hard, model: modelOf(() => broken) })).toMatchObject({
      kind: 'failed',
      error: { code: 'LLMAuthenticationError', message: 'Shortening the conversation failed: no such key' },
    })
  })

  test('a condensation that is not urgent is repeated only after the view has grown', async () => {
    const model = modelOf(() => broken)
    const condenser = new SummarizingCondenser(configOf(soft.options), model, silent)
    const at = (events: readonly TreeEvent[]) =>
      condenser.condense(
        { view: events, isRequested: false, inputLimit: null, meter: new TokenMeter([]), next: null },
        never,
      )
    await at(view)
    await at([...view, messageEvent('m1', 'hi')])
    expect(model.requests).toHaveLength(1)
    await at([...view, ...Array.from({ length: 10 }, (_, n) => messageEvent(`m${n}`, 'hi'))])
    expect(model.requests).toHaveLength(2)
  })

  test('a record that is too long for the summary model is shortened until it fits', async () => {
    const model = modelOf((text) => (text.length > 6000 ? tooLong : 'fits'))
    const verdict = await ask(work(6, 3000), { isRequested: true, model })
    expect(verdict).toMatchObject({ kind: 'condensed', condensation: { summary: 'fits' } })
    const lengths = model.requests.map(({ messages }) => requestText(messages.at(-1)!).length)
    expect(lengths.length).toBeGreaterThan(1)
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a))
  })

  test('the number of attempts at a summary is limited', async () => {
    const model = modelOf(() => tooLong)
    const verdict = await ask(view, { ...hard, options: { hard_context_reset_max_retries: 3 }, model })
    expect(verdict.kind).toBe('failed')
    expect(model.requests).toHaveLength(6)
  })

  test('an abort of a summary is thrown and not reported as a failed condensation', async () => {
    const reason = new Error('stop')
    const ended = new AbortController()
    const model = modelOf(() => {
      ended.abort(reason)
      return broken
    })
    const condenser = new SummarizingCondenser(configOf(), model, silent)
    const situation = { view, isRequested: true, inputLimit: null, meter: new TokenMeter([]), next: null }
    await expect(condenser.condense(situation, ended.signal)).rejects.toThrow()
    expect(model.requests).toHaveLength(1)
  })
})

test('a limit that tools and kept events alone exceed does not cause a condensation', async () => {
  const meter = new TokenMeter([{ name: 't', description: 'x'.repeat(40_000), parameters: {} }])
  expect((await ask(work(10, 4000), { inputLimit: 5000, meter })).kind).toBe('keep')
})

test('the summary request fits the window of the model, and the summary fits its share of it', async () => {
  const model = modelOf(() => 'long '.repeat(10_000))
  const verdict = await ask(work(40, 5000), { inputLimit: 10_000, model })
  expect(requestText(model.requests[0]!.messages.at(-1)!).length).toBeLessThan(10_000 * 3)
  const summary = verdict.kind === 'condensed' ? verdict.condensation.summary! : ''
  expect(summary.length).toBeLessThanOrEqual(10_000 * 0.2 * 3)
})

test('every condensation removes events, keeps the first ones and leaves a valid view', async () => {
  await fc.assert(
    fc.asyncProperty(
      historyOf(40),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 8, max: 30 }),
      fc.boolean(),
      async (branch, keep_first, max_size, isRequested) => {
        const view = new View()
        for (const event of branch) view.append(event)
        const before = [...view.events()]
        const options = { keep_first, max_size: Math.max(max_size, 2 * keep_first + 4) }
        const verdict = await ask(before, { options, isRequested })
        if (verdict.kind !== 'condensed') return
        const { condensation } = verdict
        view.append({ ...condensationEvent('c', [], null, null), ...condensation })
        const after = view.events()
        const gone = new Set<string>(condensation.forgotten_event_ids)
        expect(after.filter(({ kind }) => kind !== 'CondensationSummaryEvent')).toEqual(
          before.filter(({ id }) => !gone.has(id)),
        )
        expect(after.at(condensation.summary_offset!)).toMatchObject({ summary: 'in short' })
        expect(after.length).toBe(before.length - gone.size + 1)
        expect(ids(enforceProperties(after, [...after, ...branch]))).toEqual(ids(after))
        expect(after[0]).toBe(before[0])
        // The usual range keeps the first events; a request that it cannot satisfy forgets everything else.
        if (isRequested) return
        expect(after.slice(0, keep_first)).toEqual(before.slice(0, keep_first))
        expect(gone.size).toBeGreaterThanOrEqual(0.1 * before.length)
      },
    ),
  )
})

test('a condensation is requested exactly when a request follows the last condensation', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('message', 'request', 'condensation'), { maxLength: 12 }), (kindsOfEvents) => {
      const events = kindsOfEvents.map((kind, n) =>
        kind === 'message'
          ? messageEvent(`m${n}`, 'hi')
          : kind === 'request'
            ? requestEvent(`q${n}`)
            : condensationEvent(`c${n}`, [], null, null),
      )
      const expected = kindsOfEvents.lastIndexOf('request') > kindsOfEvents.lastIndexOf('condensation')
      const view = new View()
      for (const event of events) view.append(event)
      for (const each of [view, View.rebuild(events)]) {
        expect(each.isCondensationRequested).toBe(expected)
        expect(each.events().every(({ kind }) => kind === 'MessageEvent')).toBe(true)
      }
    }),
  )
})
