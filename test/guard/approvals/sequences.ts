/** Random sequences of API calls, each repeatable from its seed as far as the order of concurrent requests allows. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Answered } from '../../../packages/server/testing/restartable-server.ts'
import { modelName, SECRET, tagsOf } from './model.ts'
import type { Decision, Place, Shown } from './place.ts'
import { random } from './random.ts'

const MOST_STEPS = 14
/** Milliseconds between two looks at the store. */
const LOOK_MS = 10
/** Milliseconds after which an unused conversation has usually left memory. */
const UNLOADED_MS = 300
/** Longest time, in milliseconds, until a conversation rests; one that exceeds it hangs. */
const REST_MS = 120_000
const RESTING = new Set(['idle', 'paused', 'finished', 'error', 'stuck', 'waiting_for_confirmation'])

const ALWAYS = { kind: 'AlwaysConfirm' }
const POLICIES = [
  ALWAYS,
  ALWAYS,
  ALWAYS,
  ALWAYS,
  { kind: 'NeverConfirm' },
  { kind: 'NeverConfirm' },
  { kind: 'ConfirmRisky' },
]

/** How often a step is chosen. */
const WEIGHTS = {
  message: 2,
  run: 2,
  look: 1,
  reach: 3,
  release: 1,
  settle: 1,
  pause: 1,
  interrupt: 1,
  accept: 2,
  reject: 1,
  named: 2,
  approve: 4,
  navigate: 1,
  fork: 1,
  policy: 2,
  rest: 1,
  restart: 1,
  focus: 1,
  rewind: 2,
} as const
type Step = keyof typeof WEIGHTS
const STEPS = (Object.keys(WEIGHTS) as Step[]).flatMap((step) => Array<Step>(WEIGHTS[step]).fill(step))

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

/** Starts a conversation of a sequence and waits until it takes messages. */
async function start(place: Place, seed: number, pick: (below: number) => number): Promise<string> {
  const llm = { model: modelName(seed), base_url: `${place.modelUrl()}/v1`, api_key: 'none', num_retries: 0 }
  const mcp_config = { outside: { url: place.effects.url } }
  const hasHelper = seed % 3 === 0
  const helper = { name: 'helper', description: 'Helps.', tools: ['file_editor'], mcp_config }
  const conversation_id = randomUUID()
  const body = {
    conversation_id,
    workspace: { working_dir: place.folder(seed) },
    agent: {
      kind: 'Agent',
      llm,
      tools: [{ name: 'file_editor' }, ...(hasHelper ? [{ name: 'task_tool_set' }] : [])],
      mcp_config,
      tool_concurrency_limit: 1,
    },
    ...(hasHelper ? { agent_definitions: [helper] } : {}),
    ...(pick(2) === 0 ? { security_analyzer: { kind: 'LLMSecurityAnalyzer' } } : {}),
    confirmation_policy: POLICIES[pick(POLICIES.length)],
    secrets: { WORD: SECRET },
    autotitle: false,
    stuck_detection: false,
  }
  for (;;) {
    const { status, text } = await place.call('POST', '/api/conversations', body)
    // A start that a kill cut off is repeated under the same id, which starts nothing twice.
    if (status === 200 || status === 201) break
    if (status !== 0) throw new Error(`the start is answered with ${status}: ${text}`)
  }
  return conversation_id
}

/** Runs one sequence to its end; afterwards nothing runs in its conversations. */
export async function play(place: Place, seed: number): Promise<Played> {
  const pick = random(seed)
  const first = await start(place, seed, pick)
  const played: Played = { seed, ids: [first], trace: [], decisions: [], shown: [] }
  const { ids, trace, decisions, shown } = played
  const { logs, effects } = place
  const everyone = (): string[] => ids.flatMap((each) => [each, ...logs.children(each)])
  let id = first

  const ask = async (method: string, path: string, body?: unknown, of = id): Promise<Answered> => {
    const askedAt = performance.now()
    const answer = await place.call(method, `/api/conversations/${of}${path}`, body)
    if (method === 'POST') trace.push(`${path || '/'} ${answer.status}`)
    if (answer.status === 200) shown.push({ id: of, askedAt, seq: logs.seq(of), text: answer.text })
    // A server that restarts refuses with 503 what it cannot take any more.
    const isBroken = answer.status >= 500 && answer.status !== 503
    expect([seed, path, isBroken ? answer.text : '']).toEqual([seed, path, ''])
    return answer
  }
  const post = (path: string, body?: unknown) => ask('POST', path, body)
  /** Sends a request that may decide about a batch. */
  const decide = async (path: string, accepts: boolean, batch: string | null, body?: object): Promise<void> => {
    const of = id
    const before = logs.seq(of)
    const { status, text } = await ask('POST', path, body, of)
    const isUnseen = status === 409 && text.includes('no client of this user has received it')
    const [after, answeredAt] = [logs.seq(of), performance.now()]
    decisions.push({ id: of, accepts, batch, status, isUnseen, before, after, answeredAt })
  }
  const isResting = (of: string): boolean => RESTING.has(logs.status(of) ?? 'idle')
  const untilTrue = async (what: string, condition: () => boolean): Promise<void> => {
    for (const from = performance.now(); !condition(); await sleep(LOOK_MS))
      if (performance.now() - from > REST_MS) {
        const statuses = everyone().map((each) => `${each} ${logs.status(each)}`)
        throw new Error(`seed ${seed}: ${what} does not come: ${statuses.join(', ')}: ${trace.join(', ')}`)
      }
  }
  /** Without a request, so that no client receives a batch. */
  const settle = (of: readonly string[]) =>
    untilTrue('the end of the run', () => {
      effects.release(tagsOf(seed))
      return of.every(isResting)
    })
  /** A point of the tree of a conversation, or its beginning. */
  const pointOf = (of: string): string | null => {
    const tree = logs.events(of).filter(({ event }) => 'parent_id' in event)
    return tree[pick(tree.length + 1)]?.event.id ?? null
  }

  const step = async (kind: Step): Promise<unknown> => {
    switch (kind) {
      case 'message':
        return post('/events', { content: [{ type: 'text', text: 'go on' }], run: pick(4) > 0 })
      case 'run':
        return decide('/run', true, null)
      case 'pause':
      case 'interrupt':
        return post(`/${kind}`)
      case 'look':
        await ask('GET', '')
        return pick(2) === 0 ? ask('GET', '/events/search?limit=100&sort_order=TIMESTAMP_DESC') : undefined
      case 'reach':
        return untilTrue('a held call', () => effects.isHeld(tagsOf(seed)) || isResting(id))
      case 'release':
        return effects.release(tagsOf(seed))
      case 'settle':
        return settle([id])
      case 'accept':
      case 'reject': {
        const accept = kind === 'accept'
        return decide('/events/respond_to_confirmation', accept, null, { accept, reason: 'no' })
      }
      case 'named': {
        // Any batch that was ever asked about: the newest one more often, or one that is stale.
        const asked = logs.events(id).filter(({ event }) => event.kind === 'ConfirmationRequestedEvent')
        const batch = (pick(2) === 0 ? asked.at(-1) : asked[pick(asked.length + 1)])?.event.id ?? randomUUID()
        if (pick(2) === 0) return decide('/run', true, batch, { batch_id: batch })
        const accept = pick(4) > 0
        return decide('/events/respond_to_confirmation', accept, batch, { accept, batch_id: batch })
      }
      case 'approve': {
        // As a person does it, and sometimes after the conversation has left memory.
        await settle([id])
        if (pick(4) === 0) await sleep(UNLOADED_MS)
        const batch = logs.events(id).findLast(({ event }) => event.kind === 'ConfirmationRequestedEvent')?.event.id
        if (batch === undefined) return
        return decide('/events/respond_to_confirmation', true, batch, { accept: true, batch_id: batch })
      }
      case 'policy':
        return post('/confirmation_policy', { policy: POLICIES[pick(POLICIES.length)] })
      case 'navigate':
        return post('/navigate', { event_id: pointOf(id) })
      case 'fork': {
        const fork = randomUUID()
        await post('/fork', { id: fork })
        if (logs.status(fork) !== undefined) ids.push(fork)
        return
      }
      case 'rest':
        return sleep(pick(2) * UNLOADED_MS)
      case 'restart':
        return place.restart(pick(3) === 0 ? 'end' : 'kill')
      case 'focus': {
        const all = everyone()
        id = all[pick(all.length)]!
        return
      }
      case 'rewind': {
        // A sub-agent is taken back while its parent waits for it; it then works anew. A paused one is waited for no more.
        const child = logs.children(id).at(-1)
        if (child === undefined) return
        if (pick(4) === 0) await ask('POST', '/pause', undefined, child)
        await settle([child])
        const task = logs.events(child).find(({ event }) => event.kind === 'MessageEvent')
        const to = pick(2) === 0 ? pointOf(child) : (task?.event.id ?? null)
        return ask('POST', '/navigate', { event_id: to }, child)
      }
      default:
        kind satisfies never
    }
  }

  await step('message')
  for (let left = 4 + pick(MOST_STEPS - 3); left > 0; left--) {
    const kind = STEPS[pick(STEPS.length)]!
    // Some steps are not awaited, so that the next one runs concurrently.
    if (pick(6) === 0) await Promise.all([step(kind), step(STEPS[pick(STEPS.length)]!)])
    else await step(kind)
  }
  await settle(everyone())
  // A message that waits for the end of a start would begin a run during the check.
  for (id of everyone()) await untilInterrupted(post)
  await settle(everyone())
  return played
}

/** Repeats an interrupt that was cut off, or that the store could not take. */
async function untilInterrupted(post: (path: string) => Promise<Answered>): Promise<void> {
  for (;;) {
    const { status } = await post('/interrupt')
    if (status !== 0 && status !== 503) return
    await sleep(LOOK_MS)
  }
}

/** Deletes the conversations of a sequence, sub-agents first. */
export async function clear(place: Place, { seed, ids }: Played): Promise<void> {
  const all: string[] = ids.flatMap((each) => [...place.logs.children(each), each])
  for (const id of new Set(all))
    while (place.logs.status(id) !== undefined) {
      const { status, text } = await place.call('DELETE', `/api/conversations/${id}`)
      if (![0, 200, 503].includes(status)) throw new Error(`seed ${seed}: ${id} is not deleted: ${status} ${text}`)
    }
  place.model.forget(seed)
  place.effects.forget(tagsOf(seed))
}
