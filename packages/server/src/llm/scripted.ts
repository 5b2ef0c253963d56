/**
 * The provider `scripted/…`: answers from a file instead of a model.
 * The position in the script is the number of assistant turns in the request, so the provider has no state and a
 * restarted
 * server continues where the conversation is.
 */
import { randomUUID } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import type { LLM } from '@parley/protocol'
import { abortable, sleep } from '../lib/index.ts'
import { LlmError, type Llm, type LlmAnswer, type LlmDelta, type LlmMessage, type LlmRequest } from './llm.ts'

const ScriptedCall = z.object({
  name: z.string(),
  /** A string is used as the model's own text, malformed or not. */
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
})

const ScriptedAnswer = z.object({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  tool_calls: z.array(ScriptedCall).optional(),
  /** Milliseconds before the first delta. */
  delay_ms: z.number().min(0).optional(),
  /** Milliseconds between two deltas. */
  delta_delay_ms: z.number().min(0).optional(),
  /** The turn fails with this message. */
  error: z.string().optional(),
})
export type ScriptedAnswer = z.infer<typeof ScriptedAnswer>

/** A script file: answers, in order. */
const Script = z.array(ScriptedAnswer)

const DELTA_CHARS = 16
/** Characters per token, for plausible counts. */
const CHARS_PER_TOKEN = 4

type ScriptSource = { directory: string; read: (path: string) => Promise<string> }

/**
 * Returns a model that plays `script`: an absolute path, or a name in `directory` (without `.json` if desired).
 * @throws LlmError `LLMNotConfigured` from `complete` when the script cannot be read, `LLMBadRequestError` at its end.
 */
export function scriptedLlm(config: LLM, script: string, { directory, read }: ScriptSource): Llm {
  const path = isAbsolute(script) ? script : join(directory, script)
  const file = path.endsWith('.json') ? path : `${path}.json`
  let loaded: Promise<ScriptedAnswer[]> | null = null
  return {
    model: config.model,
    usageId: config.usage_id,
    async complete(request, onDelta, signal) {
      signal.throwIfAborted()
      loaded ??= read(file)
        .then(parse)
        .catch((error: unknown) => {
          loaded = null
          throw new LlmError(
            'LLMNotConfigured',
            `${config.model}: the script ${file} cannot be used: ${(error as Error).message}`,
            { cause: error },
          )
        })
      const answers = await abortable(loaded, signal)
      const turn = request.messages.filter((message) => message.role === 'assistant').length
      const answer = answers[turn]
      if (answer === undefined)
        throw new LlmError(
          'LLMBadRequestError',
          `${config.model}: the script has ${answers.length} answers, this would be number ${turn + 1}`,
        )
      return play(config, answer, request, config.stream ? onDelta : () => {}, signal)
    },
  }
}

function parse(text: string): ScriptedAnswer[] {
  try {
    return Script.parse(JSON.parse(text))
  } catch {
    // The errors of the parsers quote the file, which need not be a script.
    throw new Error('it is no JSON list of answers')
  }
}

/** Streams one answer, and returns it with plausible counts of tokens. @throws LlmError for an answer that is an error */
export async function play(
  config: LLM,
  answer: ScriptedAnswer,
  request: LlmRequest,
  onDelta: (delta: LlmDelta) => void,
  signal: AbortSignal,
): Promise<LlmAnswer> {
  const started = performance.now()
  if (answer.delay_ms) await sleep(answer.delay_ms, signal)
  if (answer.error !== undefined) throw new LlmError('LLMError', `${config.model}: ${answer.error}`)
  for (const delta of deltasOf(answer)) {
    if (answer.delta_delay_ms) await sleep(answer.delta_delay_ms, signal)
    onDelta(delta)
  }
  const toolCalls = (answer.tool_calls ?? []).map((call) => ({
    // Never the same twice: after going back in the history, the same turn makes a new call.
    id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }))
  return {
    responseId: randomUUID(),
    text: answer.text ?? '',
    reasoning: answer.reasoning ?? null,
    raw: null,
    toolCalls,
    finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      tokens: estimate(config, request, answer, toolCalls),
      costUsd: null,
      latency: (performance.now() - started) / 1000,
    },
  }
}

function* deltasOf({ reasoning = '', text = '' }: ScriptedAnswer): Generator<LlmDelta> {
  for (let at = 0; at < reasoning.length; at += DELTA_CHARS)
    yield { reasoning_content: reasoning.slice(at, at + DELTA_CHARS) }
  for (let at = 0; at < text.length; at += DELTA_CHARS) yield { content: text.slice(at, at + DELTA_CHARS) }
}

function estimate(
  config: LLM,
  request: LlmRequest,
  answer: ScriptedAnswer,
  calls: LlmAnswer['toolCalls'],
): LlmAnswer['usage']['tokens'] {
  const prompt = tokensIn(request.messages.reduce((sum, message) => sum + charsOf(message), 0))
  const written = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0)
  const completion = tokensIn((answer.text?.length ?? 0) + (answer.reasoning?.length ?? 0) + written)
  return {
    model: config.model,
    prompt_tokens: prompt,
    completion_tokens: completion,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: tokensIn(answer.reasoning?.length ?? 0),
    context_window: config.max_input_tokens ?? 0,
    per_turn_token: prompt + completion,
  }
}

const tokensIn = (chars: number) => Math.ceil(chars / CHARS_PER_TOKEN)

function charsOf(message: LlmMessage): number {
  const text = message.content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  return message.role === 'assistant'
    ? message.toolCalls.reduce((sum, call) => sum + call.arguments.length, text)
    : text
}
