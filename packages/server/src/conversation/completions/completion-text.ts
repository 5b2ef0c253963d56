/**
 * A request to a model and what came of it, as text: secrets masked, images replaced by their size and digest, long texts
 * shortened. Source: docs/models.md, Completion log.
 */
import { createHash, randomBytes } from 'node:crypto'
import { TimeSlices } from '../../lib/index.ts'
import type { LlmAnswer, LlmCompletion } from '../../llm/index.ts'
import type { CompletionText } from '../conversations.ts'
import { isObject, makeMasker, secretValues, type Masker } from '../../secrets/index.ts'

/** Most bytes of a file. */
export const MAX_FILE_BYTES = 4_000_000
/**
 * Most bytes of `log_data` as a member of a frame, where it is escaped. Clients of the agent-server API refuse frames of more than
 * 1 MiB, and close the connection.
 */
export const MAX_FRAME_BYTES = 1_000_000

/** Lengths to which texts are shortened, one after the other, until the whole fits; characters. */
const SHORTER = [65_536, 16_384, 8_192, 4_096, 2_048, 1_024, 128]
/** Characters that are masked at once. */
const PIECE = 65_536
/** Characters that are masked without a check of the time. */
const SHORT = 1_024
const MEMBERS_AT_ONCE = 256
const MAX_NAME = 60

/** A completion without secrets; a text of it has the length that its place allows. */
export type ShownCompletion = {
  filename: string
  forFile: () => Promise<string>
  forFrame: () => Promise<CompletionText>
}

/** @param masker hides the secrets of the conversation; those of the model's configuration are hidden, too */
export async function shownCompletion(completion: LlmCompletion, masker: Masker): Promise<ShownCompletion> {
  const { config, startedAt } = completion
  const shown = new Shown([masker, makeMasker(secretValues(config))])
  const model_name = await shown.text(config.model)
  const data = (await shown.value(dataOf(completion))) as Data
  const filename = filenameOf(startedAt, model_name)
  const named = { filename, model_name, usage_id: config.usage_id }
  return {
    filename,
    forFile: () => fitting(data, isFile),
    forFrame: async () => ({ ...named, log_data: await fitting(data, isFrame) }),
  }
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
      for (const item of value) items.push(this.#isQuick(item) ? this.#quick(item, false) : await this.value(item))
      return items
    }
    if (!isObject(value)) return value
    const hasType = Object.keys(value).some((name) => TYPE_OF_DATA.test(name))
    const members: [string, unknown][] = []
    for (const [name, member] of Object.entries(value)) {
      // A turn of the event loop for each member would take most of the time.
      if (members.length % MEMBERS_AT_ONCE === 0) await this.#slices.next()
      const isData = hasType && name === 'data'
      const shown = this.#isQuick(member) ? this.#quick(member, isData) : await this.value(member, isData)
      members.push([name.length <= SHORT ? this.#masked(name) : await this.text(name), shown])
    }
    return Object.fromEntries(members)
  }

  async text(text: string): Promise<string> {
    await this.#slices.next()
    if (text.length <= PIECE) return this.#masked(text)
    let shown = text
    for (const masker of this.#maskers) shown = await this.#long(shown, masker)
    return shown
  }

  #isQuick(value: unknown): boolean {
    return typeof value === 'string' ? value.length <= SHORT : typeof value !== 'object' || value === null
  }

  #quick(value: unknown, isMedia: boolean): unknown {
    return typeof value === 'string' ? (imageNote(value, isMedia) ?? this.#masked(value)) : value
  }

  #masked(text: string): string {
    return this.#maskers.reduce((shown, masker) => masker.text(shown), text)
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

/** The JSON text of the data, with texts as long as it fits. */
async function fitting(data: Data, fits: (text: string) => boolean): Promise<string> {
  const slices = new TimeSlices()
  let text = JSON.stringify(data)
  if (fits(text)) return text
  const longest = longestIn(data)
  for (const limit of SHORTER) {
    if (limit >= longest) continue
    if (fits(text)) return text
    await slices.next()
    text = JSON.stringify(shortened(data, limit))
  }
  if (fits(text)) return text
  const { length } = JSON.stringify(data.request)
  const rest = { ...data, request: `[${length} characters left out]` }
  text = JSON.stringify(shortened(rest, SHORTER.at(-1)!))
  return fits(text) ? text : JSON.stringify({ ...rest, answer: null, error: null })
}

const isFile = (text: string): boolean => text.length <= MAX_FILE_BYTES && Buffer.byteLength(text) <= MAX_FILE_BYTES
const isFrame = (text: string): boolean =>
  text.length <= MAX_FRAME_BYTES && Buffer.byteLength(JSON.stringify(text)) <= MAX_FRAME_BYTES

function shortened(value: unknown, limit: number): unknown {
  if (typeof value === 'string') {
    if (value.length <= limit) return value
    return `${value.slice(0, limit).toWellFormed()}… [${value.length - limit} characters left out]`
  }
  if (Array.isArray(value)) return value.map((item) => shortened(item, limit))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member, limit)]))
}

/** Length of the longest text in a value. */
function longestIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((longest: number, member) => Math.max(longest, longestIn(member)), 0)
}
