/** Conversations at work while faults happen: what is asked of them, what was acknowledged, what their watchers received. */
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CallError, ParleyClient } from '@parley/client'
import { asConversationId } from '@parley/protocol'
import { canary } from '../../../packages/server/testing/canaries/values.ts'
import { asList, asObject, textOf } from '../../../packages/server/testing/model-formats/format.ts'
import { random } from '../../../packages/server/testing/random-history.ts'
import type { ModelRequest, ScriptedAnswer, ScriptedToolCall } from '../../../packages/server/testing/scripted-model.ts'
import { TEST_KEY } from '../../../packages/server/testing/server-process.ts'
import type { Answer, FaultyServer } from './faulty-server.ts'

const MOST_STEPS = 5
/** Milliseconds between two requests of one client. */
const LOOK_MS = 80
const BASH_TRACE = 'bash-trace'

type Watched = { seq: number; event: any }

/** One conversation, and what its clients know of it. */
export type Talk = {
  id: string
  work: string
  /** Every action needs an approval. */
  isGuarded: boolean
  /** Ids that the client chose for its messages. `open`: a connection broke off, so the client cannot know. */
  messages: Map<string, 'refused' | 'open' | 'stored'>
  /** Batches whose approval was acknowledged. */
  approved: Set<string>
  seen: Watched[]
  /** `asked`: the deletion is not acknowledged yet. */
  deletion: 'none' | 'asked' | 'done'
  /** The failure of its watcher. */
  broken: unknown
  end: AbortController
  watching: Promise<void>
}

/** A command of the bash API. `id` is null until the start is acknowledged. */
export type Command = { line: string; id: string | null }

export class Workload {
  readonly talks: Talk[] = []
  readonly commands: Command[] = []
  /** Lines that commands and edits may write, each once. */
  lines = 0
  /** Working directories that were given out. */
  #works = 0
  slowestInterruptMs = 0
  readonly #server: FaultyServer
  readonly #model: { url: string }
  readonly #dir: string
  readonly #next: () => number
  readonly #seed: number

  constructor(server: FaultyServer, model: { url: string }, dir: string, seed: number) {
    this.#server = server
    this.#model = model
    this.#dir = dir
    this.#seed = seed
    this.#next = random(seed * 32_452_843)
  }

  get bashTrace(): string {
    return join(this.#dir, BASH_TRACE)
  }

  /** Adds a conversation that exists already, and makes the file that its edits change. */
  async adopt(id: string, work: string, isGuarded: boolean): Promise<Talk> {
    await mkdir(work, { recursive: true })
    await writeFile(join(work, 'notes'), '')
    const talk: Talk = {
      id,
      work,
      isGuarded,
      messages: new Map(),
      approved: new Set(),
      seen: [],
      deletion: 'none',
      broken: null,
      end: new AbortController(),
      watching: Promise.resolve(),
    }
    talk.watching = this.#watch(talk)
    this.talks.push(talk)
    return talk
  }

  /** Starts a conversation; repeats the request until it is acknowledged. */
  async begin(isGuarded = this.#next() < 0.4): Promise<Talk> {
    const id = randomUUID()
    const work = join(this.#dir, 'talks', String(this.#works++))
    const llm = { model: 'openai/scripted', base_url: `${this.#model.url}/v1`, api_key: canary('llm_key') }
    const request = {
      conversation_id: id,
      workspace: { working_dir: work },
      agent: {
        kind: 'Agent',
        llm: { ...llm, num_retries: 0 },
        tools: [{ name: 'terminal' }, { name: 'file_editor' }],
        tool_concurrency_limit: 2,
      },
      confirmation_policy: { kind: isGuarded ? 'AlwaysConfirm' : 'NeverConfirm' },
      autotitle: false,
    }
    await this.#untilAnswered('POST', '/api/conversations', request, [200, 201])
    return this.adopt(id, work, isGuarded)
  }

  /** The answer of the model: one or two calls, each of which writes a line that no other call writes, then an end. */
  respond({ body }: ModelRequest): ScriptedAnswer {
    const messages = asList(body['messages'])
    const from = messages.findLastIndex(({ role, content }) => role === 'user' && textOf(content).includes('work for '))
    const task = /work for (\d+) in (\S+)/.exec(textOf(asObject(messages[from])['content']))
    if (task === null) return { text: 'Done.' }
    const done = messages.slice(from).filter(({ role }) => role === 'assistant').length
    const next = random(this.#seed * 86_028_121 + this.lines)
    const delayMs = Math.round(next() ** 2 * 400)
    if (done >= Number(task[1])) return { text: 'Done.', delayMs }
    const calls = [this.#call(task[2]!, next)]
    if (next() < 0.25) calls.push(this.#call(task[2]!, next))
    return { toolCalls: calls, delayMs }
  }

  #call(work: string, next: () => number): ScriptedToolCall {
    const line = `L${++this.lines}`
    const dice = next()
    if (dice < 0.25) {
      const insert = { command: 'insert', path: join(work, 'notes'), insert_line: 0, new_str: line }
      return { name: 'file_editor', arguments: insert }
    }
    const begun = `echo ${line} >> ${join(work, 'trace')}`
    const seconds = (next() ** 2).toFixed(2)
    if (dice < 0.35) return { name: 'terminal', arguments: { command: `${begun} && (sleep 300 >/dev/null 2>&1 &)` } }
    return { name: 'terminal', arguments: { command: `${begun} && sleep ${seconds} && echo said` } }
  }

  /** Sends one message to a conversation. */
  say(talk: Talk): Promise<void> {
    return this.#send(talk, this.#next)
  }

  /** One client for each conversation and one for the bash API, until `end` aborts. */
  async play(end: AbortSignal): Promise<void> {
    const clients = [...this.talks].map((talk, index) => this.#client(talk, random(this.#seed * 7_919 + index), end))
    await Promise.all([...clients, this.#bash(random(this.#seed * 104_729), end)])
  }

  async #client(first: Talk, next: () => number, end: AbortSignal): Promise<void> {
    for (let talk = first; !end.aborted; await sleep(next() * LOOK_MS)) {
      if (talk.deletion === 'none') await this.#step(talk, next)
      else if (talk.deletion === 'asked') await this.#delete(talk)
      else talk = await this.begin()
    }
  }

  /** The next request of a client. */
  async #step(talk: Talk, next: () => number): Promise<void> {
    const at = `/api/conversations/${talk.id}`
    const answer = await this.#server.call('GET', at)
    if (answer?.status !== 200) return
    const dice = next()
    if (dice < 0.01) return this.#delete(talk)
    switch (answer.body.execution_status) {
      case 'waiting_for_confirmation':
        return this.#decide(talk, dice)
      case 'running':
        if (dice < 0.06) return this.#send(talk, next)
        if (dice < 0.12) return void (await this.#server.call('POST', `${at}/pause`))
        if (dice < 0.18) return this.#interrupt(at)
        return
      case 'paused':
        if (dice < 0.5) return void (await this.#server.call('POST', `${at}/run`))
        return this.#send(talk, next)
      default:
        return this.#send(talk, next)
    }
  }

  async #send(talk: Talk, next: () => number): Promise<void> {
    const event_id = [...talk.messages].findLast(([, state]) => state !== 'stored')?.[0] ?? randomUUID()
    // A repetition is sent until the first one is acknowledged, with the same content.
    const steps = 1 + (Number.parseInt(event_id.slice(0, 4), 16) % MOST_STEPS)
    const text = `work for ${steps} in ${talk.work}`
    talk.messages.set(event_id, talk.messages.get(event_id) ?? 'refused')
    const body = { content: [{ type: 'text', text }], run: true, event_id }
    const send = () => this.#server.call('POST', `/api/conversations/${talk.id}/events`, body)
    const answers = next() < 0.2 ? await Promise.all([send(), send()]) : [await send()]
    for (const answer of answers) {
      if (answer?.status === 200) talk.messages.set(event_id, 'stored')
      else if (answer === null && talk.messages.get(event_id) === 'refused') talk.messages.set(event_id, 'open')
      else this.#expect(answer, [503], `message ${event_id}`)
    }
  }

  async #decide(talk: Talk, dice: number): Promise<void> {
    const asked = talk.seen.findLast(({ event }) => event.key === 'confirmation_request')
    if (asked === undefined) return
    const { batch_id } = asked.event.value
    const at = `/api/conversations/${talk.id}`
    if (dice < 0.25) {
      const answer = await this.#server.call('POST', `${at}/run`, { batch_id })
      if (answer?.status === 200) talk.approved.add(batch_id)
      return
    }
    const accept = dice < 0.8
    const body = { accept, reason: 'no', batch_id }
    const answer = await this.#server.call('POST', `${at}/events/respond_to_confirmation`, body)
    if (answer?.status === 200 && accept) talk.approved.add(batch_id)
  }

  async #interrupt(at: string): Promise<void> {
    const asked = performance.now()
    const answer = await this.#server.call('POST', `${at}/interrupt`)
    if (answer?.status === 200) this.slowestInterruptMs = Math.max(this.slowestInterruptMs, performance.now() - asked)
  }

  async #delete(talk: Talk): Promise<void> {
    talk.deletion = 'asked'
    const answer = await this.#server.call('DELETE', `/api/conversations/${talk.id}`)
    if (answer === null || answer.status === 503) return
    // 400: an earlier request has deleted it, whose answer was lost.
    this.#expect(answer, [200, 400], `deletion of ${talk.id}`)
    talk.deletion = 'done'
    talk.end.abort()
  }

  async #bash(next: () => number, end: AbortSignal): Promise<void> {
    for (; !end.aborted; await sleep(200 + next() * 800)) {
      const line = `L${++this.lines}`
      const command = { line, id: null as string | null }
      this.commands.push(command)
      const answer = await this.#server.call('POST', '/api/bash/start_bash_command', {
        command: `echo ${line} >> ${this.bashTrace} && sleep ${(next() ** 2 * 2).toFixed(2)}`,
        timeout: 60,
      })
      if (answer?.status === 200) command.id = answer.body.id as string
      else this.#expect(answer, [503], 'bash command')
    }
  }

  #expect(answer: Answer | null, statuses: readonly number[], what: string): void {
    if (answer === null || statuses.includes(answer.status)) return
    throw new Error(`${what} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`)
  }

  async #untilAnswered(method: string, path: string, body: unknown, statuses: readonly number[]): Promise<void> {
    for (;;) {
      const answer = await this.#server.call(method, path, body)
      if (answer !== null && statuses.includes(answer.status)) return
      this.#expect(answer, [503], `${method} ${path}`)
      await sleep(LOOK_MS)
    }
  }

  async #watch(talk: Talk): Promise<void> {
    const client = new ParleyClient({ baseUrl: this.#server.url, apiKey: TEST_KEY })
    const { signal } = talk.end
    try {
      for await (const { seq, event } of client.conversation(asConversationId(talk.id)).events({ signal }))
        talk.seen.push({ seq, event })
    } catch (error) {
      const isOver = signal.aborted || (talk.deletion !== 'none' && error instanceof CallError)
      if (!isOver) talk.broken = error
    }
  }
}
