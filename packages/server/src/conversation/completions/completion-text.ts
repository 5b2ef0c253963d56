/**
 * A request to a model and what came of it, as text: secrets masked, images replaced by their size and digest, long texts
 * shortened. Source: docs/models.md, Completion log.
 */
import { createHash, randomBytes } from 'node:crypto'
import { TimeSlices } from '../../lib/index.ts'
import type { LlmAnswer, LlmCompletion } from '../../llm/index.ts'
import type { CompletionText } from '../conversations.ts'
import { isObject, makeMasker, secretValues, type Masker } from '../../secrets/index.ts'

/**
 * Most bytes of `log_data` as a member of a frame, where it is escaped. Clients of the agent-server API refuse frames of more than
 * 1 MiB, and close the connection.
 */
export const MAX_LOG_BYTES = 1_000_000

/** Lengths to which texts are shortened, one after the other, until the whole fits; characters. */
const SHORTER = [65_536, 8_192, 1_024, 128]
/** Characters that are masked at once. */
const PIECE = 65_536
const MAX_NAME = 60

/** @param masker hides the secrets of the conversation; those of the model's configuration are hidden, too */
export async function completionText(completion: LlmCompletion, masker: Masker): Promise<CompletionText> {
  const { config, startedAt } = completion
  const shown = new Shown([masker, makeMasker(secretValues(config))])
  const model_name = await shown.text(config.model)
  const log_data = fitting((await shown.value(dataOf(completion))) as Data)
  return { filename: filenameOf(startedAt, model_name), log_data, model_name, usage_id: config.usage_id }
}

type Data = ReturnType<typeof dataOf>

/** `timestamp`, `latency_sec`, `cost` and `usage_summary` have the names that readers of such logs know. */
function dataOf({ config, attempt, startedAt, latency, url, body, answer, error }: LlmCompletion) {
  return {
    timestamp: startedAt / 1000,
    model: config.model,
    usage_id: config.usage_id,
    attempt,
    latency_sec: latency,
    cost: answer?.usage.costUsd ?? null,
    usage_summary: answer?.usage.tokens ?? null,
    url,
    request: parsed(body),
    answer: answer === null ? null : answerOf(answer),
    error: error === null ? null : { ...error, body: parsed(error.body) },
  }
}

const answerOf = ({ responseId, finishReason, text, reasoning, toolCalls }: LlmAnswer) => ({
  response_id: responseId,
  finish_reason: finishReason,
  text,
  reasoning,
  tool_calls: toolCalls,
})

/** The value of a JSON text; the text itself when it is none. */
function parsed(text: string | null): unknown {
  if (text === null) return null
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Begins with the time, so that names sort by it. */
function filenameOf(startedAt: number, model: string): string {
  const time = new Date(startedAt).toISOString().replaceAll(':', '-')
  const name = model
    .replaceAll('/', '__')
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, MAX_NAME)
  return `${time}-${name}-${randomBytes(4).toString('hex')}.json`
}

/** Copies a value with secrets and images replaced, in slices of time. */
class Shown {
  readonly #maskers: readonly Masker[]
  readonly #slices = new TimeSlices()

  constructor(maskers: readonly Masker[]) {
    this.#maskers = maskers.filter(({ isEmpty }) => !isEmpty)
  }

  async value(value: unknown, isMedia = false): Promise<unknown> {
    if (typeof value === 'string') return imageNote(value, isMedia) ?? this.text(value)
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const item of value) items.push(await this.value(item))
      return items
    }
    if (!isObject(value)) return value
    const hasType = Object.keys(value).some((name) => TYPE_OF_DATA.test(name))
    const members: [string, unknown][] = []
    for (const [name, member] of Object.entries(value))
      members.push([await this.text(name), await this.value(member, hasType && name === 'data')])
    return Object.fromEntries(members)
  }

  async text(text: string): Promise<string> {
    await this.#slices.next()
    let shown = text
    for (const masker of this.#maskers)
      shown = shown.length > PIECE ? await this.#long(shown, masker) : masker.text(shown)
    return shown
  }

  async #long(text: string, masker: Masker): Promise<string> {
    const stream = masker.stream()
    let shown = ''
    for (let at = 0; at < text.length; at += PIECE) {
      shown += stream.write(text.slice(at, at + PIECE))
      await this.#slices.next()
    }
    return shown + stream.end()
  }
}

/** The member beside `data` that says what it is: Anthropic, Gemini, audio of Chat Completions. */
const TYPE_OF_DATA = /^(media_type|mime_?type|mimeType|format)$/
const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,100};base64,/

/** What stands for an image, or another file, that a request contains; null for an ordinary text. */
function imageNote(text: string, isMedia: boolean): string | null {
  const head = DATA_URL.exec(text.slice(0, 256))
  if (head === null && !isMedia) return null
  const bytes = Buffer.from(text.slice(head?.[0].length ?? 0), 'base64')
  const digest = createHash('sha256').update(bytes).digest('hex')
  return `[${head?.[1] ?? 'data'}: ${bytes.length} bytes, sha256 ${digest}]`
}

/** The JSON text of the data, with texts as long as the limit allows. */
function fitting(data: Data): string {
  let text = JSON.stringify(data)
  for (const limit of SHORTER) {
    if (fits(text)) return text
    text = JSON.stringify(shortened(data, limit))
  }
  if (fits(text)) return text
  const { length } = JSON.stringify(data.request)
  const rest = { ...data, request: `[${length} characters left out]` }
  text = JSON.stringify(shortened(rest, SHORTER.at(-1)!))
  return fits(text) ? text : JSON.stringify({ ...rest, answer: null, error: null })
}

const fits = (text: string): boolean =>
  text.length <= MAX_LOG_BYTES && Buffer.byteLength(JSON.stringify(text)) <= MAX_LOG_BYTES

function shortened(value: unknown, limit: number): unknown {
  if (typeof value === 'string') {
    if (value.length <= limit) return value
    return `${value.slice(0, limit).toWellFormed()}… [${value.length - limit} characters left out]`
  }
  if (Array.isArray(value)) return value.map((item) => shortened(item, limit))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member, limit)]))
}
