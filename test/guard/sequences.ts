/**
 * Random sequences of calls against conversations with AlwaysConfirm, each to be played again from its seed, and the check
 * that everything that was executed had been approved.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Loose, Running } from './running.ts'

const MOST_STEPS = 10
/** Questions to the model that one sequence can lead to, and many more. */
const TURNS = 40
/** Looks at a conversation come this far apart, and then twice as far each time: most of a sequence would be looking otherwise. */
const LOOK_MS = 25
const LONGEST_LOOK_MS = 200
const RESTING = new Set(['idle', 'paused', 'finished', 'error', 'stuck', 'waiting_for_confirmation'])

/** Small, fast, and the same everywhere. */
function random(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A model that always wants to write one or two files; now and then it also finishes. */
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

/** A conversation whose model plays such a script, in a folder of its own; its id. */
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
  'navigate',
  'fork',
  'policy',
  'settle',
  'settle',
] as const

/** What a sequence made, and what it asked for, in order. */
export type Played = { ids: string[]; trace: string[] }

/** Plays one sequence to its end. */
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
    // Some steps are not waited for, so that the next one meets them on the way.
    if (pick(5) === 0) await Promise.all([step(kind), step(STEPS[pick(6)]!)])
    else await step(kind)
  }
  for (id of ids) await settle()
  return { ids, trace }
}

/** How many approvals and executions there were; throws when one of the latter has none of the former. */
export async function check(server: Running, seed: number, { ids, trace }: Played): Promise<[number, number]> {
  const approved = new Set<string>()
  const executed = new Set<string>()
  const paths = new Map<string, string>()
  // A fork holds what its source did, and approvals are facts of the source: sources come first.
  for (const id of ids) {
    for (const event of await server.events(id)) {
      if (event.key === 'approval' && event.value.decision === 'accept')
        for (const action of event.value.action_ids) approved.add(action)
      if (event.kind === 'ActionEvent' && event.action?.path !== undefined) paths.set(event.id, event.action.path)
      if (event.kind !== 'ObservationEvent') continue
      executed.add(event.action_id)
      if (!approved.has(event.action_id))
        throw new Error(`seed ${seed}: ${event.action_id} was executed without approval: ${trace.join(', ')}`)
    }
  }
  // After a step back, and in a fork, the same file may be asked for once more.
  const written = new Set([...paths].filter(([action]) => approved.has(action)).map(([, path]) => path))
  for (const path of paths.values()) {
    if (existsSync(path) && !written.has(path))
      throw new Error(`seed ${seed}: ${path} was written without approval: ${trace.join(', ')}`)
  }
  return [approved.size, executed.size]
}
