/** One sequence at work: its conversations, its requests with what they showed, and its waits. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Answered } from '../../../packages/server/testing/restartable-server.ts'
import { hasHelper, modelName, SECRET, tagsOf } from './model.ts'
import type { Decision, Place, Shown } from './place.ts'
import { POLICIES } from './policies.ts'
import { report } from './report.ts'
import type { Stored } from './stored-logs.ts'

/** Longest time, in milliseconds, until a conversation rests; one that exceeds it hangs. */
const REST_MS = 120_000
const RESTING = new Set(['idle', 'paused', 'finished', 'error', 'stuck', 'waiting_for_confirmation'])

/** What a sequence did, for the check. */
export type Played = {
  seed: number
  /** Conversations and forks, oldest first; without sub-agents. */
  ids: string[]
  /** Requests in order, for the message of a failure. */
  trace: string[]
  decisions: Decision[]
  shown: Shown[]
}

export class Sequence {
  readonly place: Place
  readonly pick: (below: number) => number
  readonly played: Played
  /** The conversation that the next step is about. */
  focus: string

  private constructor(place: Place, seed: number, pick: (below: number) => number, first: string) {
    this.place = place
    this.pick = pick
    this.played = { seed, ids: [first], trace: [], decisions: [], shown: [] }
    this.focus = first
  }

  /** Starts a conversation and resolves when it takes messages. */
  static async start(place: Place, seed: number, pick: (below: number) => number): Promise<Sequence> {
    const body = requestOf(place, seed, pick)
    for (;;) {
      const { status, text } = await place.call('POST', '/api/conversations', body)
      // A start that a kill cut off is repeated under the same id, which starts nothing twice.
      if (status === 200 || status === 201) return new Sequence(place, seed, pick, body.conversation_id)
      if (status !== 0) throw new Error(`the start is answered with ${status}: ${text}`)
    }
  }

  /** Conversations, forks and sub-agents. */
  everyone(): string[] {
    const { logs } = this.place
    return this.played.ids.flatMap((id) => [id, ...logs.children(id)])
  }

  /** Sends a request about a conversation, and records what its answer showed. */
  async ask(method: 'GET' | 'POST', path: string, body?: unknown, of = this.focus): Promise<Answered> {
    const { seed, trace, shown } = this.played
    const askedAt = performance.now()
    const answer = await this.place.call(method, `/api/conversations/${of}${path}`, body)
    if (method === 'POST') trace.push(`${path || '/'} ${answer.status}`)
    if (answer.status === 200) shown.push({ id: of, askedAt, seq: this.place.logs.seq(of), text: answer.text })
    // A server that restarts refuses with 503 what it cannot take any more.
    const isBroken = answer.status >= 500 && answer.status !== 503
    expect([seed, path, isBroken ? answer.text : '']).toEqual([seed, path, ''])
    return answer
  }

  post(path: string, body?: unknown): Promise<Answered> {
    return this.ask('POST', path, body)
  }

  /** Sends a request that may decide about a batch. */
  async decide(path: string, accepts: boolean, batch: string | null, body?: object): Promise<void> {
    const { logs } = this.place
    const id = this.focus
    const before = logs.seq(id)
    const { status, text } = await this.ask('POST', path, body, id)
    const isUnseen = status === 409 && text.includes('no client of this user has received it')
    const [after, answeredAt] = [logs.seq(id), performance.now()]
    this.played.decisions.push({ id, accepts, batch, status, isUnseen, before, after, answeredAt })
  }

  /** Answers the batch that waits in the focused conversation. */
  respond(accepts: boolean, batch: string | null, named: object): Promise<void> {
    return this.decide('/events/respond_to_confirmation', accepts, batch, { accept: accepts, reason: 'no', ...named })
  }

  /** The batches that the focused conversation has asked about, oldest first. */
  asked(): Stored[] {
    return this.place.logs.events(this.focus).filter(({ event }) => event.kind === 'ConfirmationRequestedEvent')
  }

  /** A random point of the tree of a conversation, or its beginning. */
  pointOf(id: string): string | null {
    const tree = this.place.logs.events(id).filter(({ event }) => 'parent_id' in event)
    return tree[this.pick(tree.length + 1)]?.event.id ?? null
  }

  /** The message that gives a sub-agent its task; null before it has one. */
  taskOf(id: string): string | null {
    return this.place.logs.events(id).find(({ event }) => event.kind === 'MessageEvent')?.event.id ?? null
  }

  hasApproved(id: string): boolean {
    return this.place.logs.events(id).some(({ event }) => event.kind === 'ApprovalEvent' && event.decision === 'accept')
  }

  /** Waits until one of the sequence's calls is held, or the focused conversation rests. */
  untilHeld(): Promise<void> {
    const { effects } = this.place
    return this.#until('a held call', () => effects.isHeld(tagsOf(this.played.seed)) || this.#isResting(this.focus))
  }

  /** Waits until conversations rest, without a request, so that no client receives a batch. Held calls are answered. */
  untilResting(ids: readonly string[]): Promise<void> {
    return this.#until('the end of the run', () => {
      this.place.effects.release(tagsOf(this.played.seed))
      return ids.every((id) => this.#isResting(id))
    })
  }

  #isResting(id: string): boolean {
    return RESTING.has(this.place.logs.status(id) ?? 'idle')
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const { seed, trace } = this.played
    for (const from = performance.now(); !holds(); await this.place.changed())
      if (performance.now() - from > REST_MS) {
        const found = await report(this.place, this.everyone())
        throw new Error(`seed ${seed}: ${what} does not come: ${trace.join(', ')}${found}`)
      }
  }
}

function requestOf(place: Place, seed: number, pick: (below: number) => number) {
  const llm = { model: modelName(seed), base_url: `${place.modelUrl()}/v1`, api_key: 'none', num_retries: 0 }
  const mcp_config = { outside: { url: place.effects.url } }
  const helper = { name: 'helper', description: 'Helps.', tools: ['file_editor'], mcp_config }
  return {
    conversation_id: randomUUID(),
    workspace: { working_dir: place.folder(seed) },
    agent: {
      kind: 'Agent',
      llm,
      tools: [{ name: 'file_editor' }, ...(hasHelper(seed) ? [{ name: 'task_tool_set' }] : [])],
      mcp_config,
      tool_concurrency_limit: 1,
    },
    ...(hasHelper(seed) ? { agent_definitions: [helper] } : {}),
    ...(pick(2) === 0 ? { security_analyzer: { kind: 'LLMSecurityAnalyzer' } } : {}),
    confirmation_policy: POLICIES[pick(POLICIES.length)],
    secrets: { WORD: SECRET },
    autotitle: false,
    stuck_detection: false,
  }
}
