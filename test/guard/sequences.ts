/**
 * Random sequences of API calls for conversations with AlwaysConfirm, each repeatable from its seed, and the check that
 * every execution had an approval.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Loose, Running } from '../../packages/server/testing/restartable-server.ts'

const MOST_STEPS = 10
/** Number of scripted model answers, more than one sequence can use. */
const TURNS = 40
/** First interval between two reads of a conversation in ms. It doubles each time, because reads would dominate a sequence. */
const LOOK_MS = 25
const LONGEST_LOOK_MS = 200
const RESTING = new Set(['idle', 'paused', 'finished', 'error', 'stuck', 'waiting_for_confirmation'])

/** A small pseudo-random generator with the same results on every platform. */
function random(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A model that always writes one or two files and sometimes finishes. */
function script(folder: string): object[] {
  const write = (name: string) => ({
    name: 'file_editor',
    arguments: { command: 'create', path: join(folder, name), file_text: 'x' },
  })
  return Array.from({ length: TURNS }, (_, turn) => {
    const tool_calls: object[] = [write(`f${turn}`)]
    if (turn % 3 === 0) tool_calls.push(write(`f${turn}-b`))
    if (turn % 5 === 4) tool_calls.push({ name: 'finish', arguments: { message: 'done' } })
    return { tool_calls }
  })
}

/** Starts a conversation with such a model in its own folder and returns its id. */
export async function startScripted(server: Running, seed: number, members: object): Promise<string> {
  const working_dir = server.file('sequences', String(seed))
  const file = server.file(`script-${seed}.json`)
  await writeFile(file, JSON.stringify(script(working_dir)))
  const agent = { kind: 'Agent', llm: { model: `scripted/${file}` }, tools: [{ name: 'file_editor' }] }
  return server.start({ workspace: { working_dir }, agent, autotitle: false, ...members })
}

const STEPS = [
  'message',
  'message',
  'run',
  'run',
  'pause',
  'interrupt',
  'accept',
  'accept',
  'reject',
  'named',
  'navigate',
  'fork',
  'policy',
  'settle',
  'settle',
] as const

/** The conversations and requests of a sequence, in order. */
export type Played = { ids: string[]; trace: string[] }

/** Runs one sequence to its end. */
export async function play(server: Running, seed: number): Promise<Played> {
  const pick = random(seed)
  const first = await startScripted(server, seed, { confirmation_policy: { kind: 'AlwaysConfirm' } })
  const ids = [first]
  const trace: string[] = []
  let id = first
  const post = async (path: string, body?: unknown): Promise<Loose> => {
    const answer = await server.call('POST', `/api/conversations/${id}${path}`, body)
    trace.push(`${path || '/'} ${answer.status}`)
    expect([seed, trace.at(-1), answer.status < 500]).toEqual([seed, trace.at(-1), true])
    return answer.body
  }
  const settle = async (): Promise<void> => {
    for (let ms = LOOK_MS; ; ms = Math.min(2 * ms, LONGEST_LOOK_MS)) {
      const { status, body, text } = await server.call('GET', `/api/conversations/${id}`)
      if (status !== 200) throw new Error(`seed ${seed}: ${id} is answered with ${status}: ${text}`)
      if (RESTING.has(body.execution_status)) return
      await sleep(ms)
    }
  }
  const step = async (kind: (typeof STEPS)[number]): Promise<unknown> => {
    switch (kind) {
      case 'message':
        return post('/events', { content: [{ type: 'text', text: 'go on' }], run: pick(4) > 0 })
      case 'run':
      case 'pause':
      case 'interrupt':
        return post(`/${kind}`)
      case 'accept':
      case 'reject':
        return post('/events/respond_to_confirmation', { accept: kind === 'accept', reason: 'no' })
      case 'named': {
        // Any batch that was ever asked about: the newest one, or one that is stale.
        const requests = (await server.events(id)).filter(({ key }) => key === 'confirmation_request')
        const batch_id: string = requests[pick(requests.length + 1)]?.value.batch_id ?? 'unknown'
        if (pick(2) === 0) return post('/run', { batch_id })
        return post('/events/respond_to_confirmation', { accept: pick(4) > 0, batch_id })
      }
      case 'policy':
        return post('/confirmation_policy', { policy: { kind: 'AlwaysConfirm' } })
      case 'navigate': {
        const tree = (await server.events(id)).filter((event) => event.kind !== 'ConversationStateUpdateEvent')
        const to = pick(tree.length + 1)
        return post('/navigate', { event_id: tree[to]?.id ?? null })
      }
      case 'fork': {
        const fork = await post('/fork', {})
        if (typeof fork.id === 'string') ids.push(fork.id as string)
        id = ids[pick(ids.length)]!
        return
      }
      case 'settle':
        return settle()
      default:
        kind satisfies never
    }
  }
  for (let left = 3 + pick(MOST_STEPS - 2); left > 0; left--) {
    const kind = STEPS[pick(STEPS.length)]!
    // Some steps are not awaited, so that the next one runs concurrently.
    if (pick(5) === 0) await Promise.all([step(kind), step(STEPS[pick(6)]!)])
    else await step(kind)
  }
  for (id of ids) await settle()
  return { ids, trace }
}

/** Counts approvals and executions; throws for an execution without an approval. */
export async function check(server: Running, seed: number, { ids, trace }: Played): Promise<[number, number]> {
  const approved = new Set<string>()
  const executed = new Set<string>()
  const paths = new Map<string, string>()
  const asked = new Map<string, string[]>()
  // A fork contains the events of its source, whose approvals are stored there, so sources come first.
  for (const id of ids) {
    for (const event of await server.events(id)) {
      if (event.key === 'confirmation_request')
        asked.set(
          event.value.batch_id,
          event.value.actions.map(({ action_id }: Loose) => action_id),
        )
      if (event.key === 'approval' && event.value.decision === 'accept') {
        for (const action of event.value.action_ids) {
          approved.add(action)
          if (asked.get(event.value.batch_id)?.includes(action) !== true)
            throw new Error(`seed ${seed}: ${action} was approved and not part of that batch: ${trace.join(', ')}`)
        }
      }
      if (event.kind === 'ActionEvent' && event.action?.path !== undefined) paths.set(event.id, event.action.path)
      if (event.kind !== 'ObservationEvent') continue
      executed.add(event.action_id)
      if (!approved.has(event.action_id))
        throw new Error(`seed ${seed}: ${event.action_id} was executed without approval: ${trace.join(', ')}`)
    }
  }
  // After a rewind and in a fork, the same file may be requested again.
  const written = new Set([...paths].filter(([action]) => approved.has(action)).map(([, path]) => path))
  for (const path of paths.values()) {
    if (existsSync(path) && !written.has(path))
      throw new Error(`seed ${seed}: ${path} was written without approval: ${trace.join(', ')}`)
  }
  return [approved.size, executed.size]
}
