/**
 * The one promise of AlwaysConfirm: nothing is executed that nobody has approved, whatever the API is asked to do, in
 * whatever order, and however many ask at once. Each sequence can be played again from its seed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { ofKind, startRunning, type Loose, type Running } from './running.ts'

/** How many sequences; about a minute on two busy cores. Ten thousand: PARLEY_TEST_SEQUENCES=10000. */
const SEQUENCES = Number(process.env['PARLEY_TEST_SEQUENCES'] ?? 500)
const FIRST_SEED = Number(process.env['PARLEY_TEST_SEED'] ?? 1)
/** Sequences that are played at the same time. */
const AT_ONCE = 8
const MOST_STEPS = 10

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

let files = 0
/** Where a run writes that nobody has told anything. */
let nowhere = ''
/** Always wants to write one or two files that nobody has written before; now and then it also finishes. */
function respond({ view }: ModelRequest): ScriptedAnswer {
  if (view.tools.length === 0) return { text: 'a title' }
  const n = files++
  const write = (name: string) => ({
    name: 'file_editor',
    arguments: { command: 'create', path: name, file_text: 'x' },
  })
  const folder = /work in (\S+)/.exec(view.lastUserText)?.[1] ?? nowhere
  const toolCalls = [write(join(folder, `f${n}`))]
  if (n % 3 === 0) toolCalls.push(write(join(folder, `f${n}-b`)))
  if (n % 5 === 0) return { toolCalls: [...toolCalls, { name: 'finish', arguments: { message: 'done' } }] }
  return { toolCalls }
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

/** Plays one sequence; what it asked for, in order. */
async function play(server: Running, seed: number): Promise<{ ids: string[]; trace: string[] }> {
  const pick = random(seed)
  const first = await server.start({ confirmation_policy: { kind: 'AlwaysConfirm' } })
  const ids = [first]
  const trace: string[] = []
  let id = first
  const post = async (path: string, body?: unknown): Promise<Loose> => {
    const answer = await server.call('POST', `/api/conversations/${id}${path}`, body)
    trace.push(`${path || '/'} ${answer.status}`)
    expect([seed, trace.at(-1), answer.status < 500]).toEqual([seed, trace.at(-1), true])
    return answer.body
  }
  const step = async (kind: (typeof STEPS)[number]): Promise<unknown> => {
    switch (kind) {
      case 'message':
        return post('/events', { content: [{ type: 'text', text: `work in ${server.work(first)}` }], run: pick(4) > 0 })
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
        return server.until(id, 'idle', 'paused', 'finished', 'error', 'stuck', 'waiting_for_confirmation')
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
  for (id of ids) await step('settle')
  return { ids, trace }
}

/** How many approvals and executions there were; throws when one of the latter has none of the former. */
async function check(
  server: Running,
  seed: number,
  { ids, trace }: { ids: string[]; trace: string[] },
): Promise<[approved: number, executed: number]> {
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
  for (const [action, path] of paths) {
    if (existsSync(path) && !approved.has(action))
      throw new Error(`seed ${seed}: ${path} was written without approval: ${trace.join(', ')}`)
  }
  return [approved.size, executed.size]
}

test('no sequence of calls executes what has not been approved (P22, P23)', async () => {
  await using server = await startRunning(respond)
  nowhere = server.file('nowhere')
  const from = performance.now()
  let next = FIRST_SEED
  let [approvals, executions, requests] = [0, 0, 0]
  const worker = async (): Promise<void> => {
    for (let seed = next++; seed < FIRST_SEED + SEQUENCES; seed = next++) {
      const played = await play(server, seed)
      const [approved, executed] = await check(server, seed, played)
      approvals += approved
      executions += executed
      requests += played.trace.length
      for (const id of played.ids) await server.call('DELETE', `/api/conversations/${id}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const seconds = (performance.now() - from) / 1000
  console.log(
    `${SEQUENCES} sequences, ${requests} requests, ${approvals} approved actions, ${executions} executed, in ${seconds.toFixed(0)} s`,
  )
  // A test in which nothing happens proves nothing.
  expect(approvals).toBeGreaterThan(SEQUENCES / 20)
  expect(executions).toBeGreaterThan(SEQUENCES / 20)
}, 900_000)

test('the check can fail: without a policy the same sequence executes what nobody approved', async () => {
  await using server = await startRunning(respond)
  const id = await server.start({ confirmation_policy: { kind: 'NeverConfirm' }, max_iterations: 3 })
  await server.say(id, `work in ${server.work(id)}`)
  await server.until(id, 'finished', 'error', 'stuck')
  expect(ofKind(await server.events(id), 'ObservationEvent').length).toBeGreaterThan(0)
  await expect(check(server, 0, { ids: [id], trace: [] })).rejects.toThrow('without approval')
})
