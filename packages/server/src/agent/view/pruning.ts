/**
 * Leaves out the content of old tool results, so that a view needs a summary later. The log keeps it.
 *
 * Invariants
 *   P1. The decision follows from the events of the branch alone, so a restart and a fork see the same view.
 *   P2. A result is left out once, with enough others that the change of the prefix is worth what it saves; never in between.
 *   P3. A result that the model has seen with less than three answers since stays.
 */
import { textContent, textOf, type EventId, type ObservationEvent, type TreeEvent } from '@parley/protocol'
import { dirname } from 'node:path'

/** Tokens are estimated: four characters each. */
export type PruneLimits = {
  /** Tokens of the newest results that stay. */
  keepTokens: number
  /** Tokens that leaving out older results has to save. */
  leastTokens: number
}

export const KEEP_ALL: PruneLimits = { keepTokens: Infinity, leastTokens: Infinity }

const CHARS_PER_TOKEN = 4
/** Providers count images by their size; this is the value of a large one. */
const IMAGE_TOKENS = 1500
/** Results of at most this many tokens stay: the line in their place is not much shorter. */
const SMALL_TOKENS = 200
const LINE_TOKENS = 50
/** Answers of the model whose results stay, however long they are. */
const KEPT_ANSWERS = 3

/** Results that another call can give again. Those of sub-agents, skills and people cannot, and lists of tasks are short. */
const PRUNABLE = new Set<ObservationEvent['observation']['kind']>([
  'TerminalObservation',
  'FileEditorObservation',
  'PlanningFileEditorObservation',
  'GlobObservation',
  'GrepObservation',
  'ListDirectoryObservation',
  'ReadFileObservation',
  'BrowserObservation',
  'MCPToolObservation',
])

export const isPrunable = (event: TreeEvent): event is ObservationEvent =>
  event.kind === 'ObservationEvent' && PRUNABLE.has(event.observation.kind)

/** A result that may be left out, and the number of answers before it. */
type Kept = { id: EventId; tokens: number; answer: number }

export class Pruning {
  readonly #limits: PruneLimits
  #kept: Kept[] = []
  #tokens = 0
  #answers = 0
  #lastResponse: string | null = null

  constructor(limits: PruneLimits) {
    this.#limits = limits
  }

  /** Takes the next event of the view. Returns the results that are left out from now on; only an answer of the model has some. */
  take(event: TreeEvent): EventId[] {
    if (isPrunable(event)) {
      const tokens = tokensOf(event)
      this.#kept.push({ id: event.id, tokens, answer: this.#answers })
      this.#tokens += tokens
    }
    const response = responseOf(event)
    if (response === null || response === this.#lastResponse) return []
    this.#lastResponse = response
    this.#answers++
    return this.#leaveOut()
  }

  #leaveOut(): EventId[] {
    const { keepTokens, leastTokens } = this.#limits
    if (this.#tokens < keepTokens + leastTokens) return []
    let left = keepTokens
    let end = this.#kept.length
    while (end > 0 && (left > 0 || this.#isRecent(this.#kept[end - 1]!))) left -= this.#kept[--end]!.tokens
    const old = this.#kept.slice(0, end).filter(({ tokens }) => tokens > SMALL_TOKENS)
    if (old.reduce((sum, { tokens }) => sum + tokens - LINE_TOKENS, 0) < leastTokens) return []
    this.#kept = this.#kept.slice(end)
    this.#tokens = this.#kept.reduce((sum, { tokens }) => sum + tokens, 0)
    return old.map(({ id }) => id)
  }

  #isRecent({ answer }: Kept): boolean {
    return answer > this.#answers - 1 - KEPT_ANSWERS
  }
}

/** The id of the answer that an event begins or continues; null for other events. */
function responseOf(event: TreeEvent): string | null {
  if (event.kind === 'ActionEvent') return event.llm_response_id
  return event.kind === 'MessageEvent' && event.source === 'agent' ? (event.llm_response_id ?? event.id) : null
}

function tokensOf({ observation: { content } }: ObservationEvent): number {
  return content.reduce(
    (sum, part) => sum + (part.type === 'text' ? part.text.length / CHARS_PER_TOKEN : IMAGE_TOKENS),
    0,
  )
}

/** The result with a line in place of its content; a second time, the same. The exit code, the directory and texts of skills stay. */
export function withoutContent(event: ObservationEvent): ObservationEvent {
  const { observation } = event
  if (isWithoutContent(event)) return event
  const content = [textContent(lineFor(observation))]
  if (observation.kind !== 'TerminalObservation') return { ...event, observation: { ...observation, content } }
  const metadata = { ...observation.metadata, prefix: '', suffix: '' }
  return { ...event, observation: { ...observation, content, metadata } }
}

/** Returns whether a result has lost its content. */
export const isWithoutContent = ({ observation }: ObservationEvent): boolean => LINE.test(textOf(observation.content))

const LINE = /^\[The result of \d+ characters(?: and \d+ images?)? was left out to make room\. [^\n]*\]$/

function lineFor(observation: ObservationEvent['observation']): string {
  const text = textOf(observation.content)
  const file = 'full_output_save_dir' in observation ? savedFile(text, observation.full_output_save_dir) : null
  const again =
    file === null ? 'Repeat the call if you need it and that changes nothing.' : `The whole output is in ${file}.`
  // As LINE describes it.
  return `[The result of ${text.length} characters${withImages(observation)} was left out to make room. ${again}]`
}

function withImages({ content }: ObservationEvent['observation']): string {
  const count = content.reduce((sum, part) => sum + (part.type === 'image' ? part.image_urls.length : 0), 0)
  return count === 0 ? '' : ` and ${count} image${count === 1 ? '' : 's'}`
}

/** The file that the notice about shortened output names. */
function savedFile(text: string, folder: string | null): string | null {
  const path = /The whole output is in (.+?); the gap begins/.exec(text)?.[1] ?? null
  return path !== null && dirname(path) === folder ? path : null
}
