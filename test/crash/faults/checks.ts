/** What holds after any sequence of faults: nothing acknowledged is lost, nothing happens twice or without approval, every turn ends. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { until } from '../../../packages/server/testing/until.ts'
import type { FaultyServer } from './faulty-server.ts'
import type { Command, Talk, Workload } from './workload.ts'

/**
 * Longest time, in milliseconds, from the last fault to the end of the last turn: an append that was refused often is repeated after
 * a minute.
 */
const TURN_MS = 120_000
const AT_REST = new Set(['idle', 'finished', 'paused', 'waiting_for_confirmation', 'error', 'stuck'])

/** Calls of a failed run are recovered by the next run. */
const MAY_HAVE_OPEN_CALLS = new Set(['paused', 'waiting_for_confirmation', 'error'])

/** Sums of the outcomes of one seed. */
export type Outcomes = {
  actions: number
  /** Lines that commands and edits have written. */
  effects: number
  /** Calls whose log says that their outcome is not known. */
  unknown: number
  approvals: number
  messages: number
  commands: number
  /** Turns that ended with an error, by its code. */
  errors: string[]
}

/** Waits until every turn and every command has ended. @throws for the first that has not */
export async function untilAtRest(server: FaultyServer, { talks, commands }: Workload): Promise<void> {
  for (const talk of talks) await untilTurnEnded(server, talk)
  for (const command of commands) {
    if (command.id === null) continue
    await until(async () => (await outputsOf(server, command)).some(isLast), TURN_MS).catch((error: unknown) => {
      throw new Error(`the bash command ${command.line} (${command.id}) has no end: ${String(error)}`)
    })
  }
}

async function untilTurnEnded(server: FaultyServer, talk: Talk): Promise<void> {
  let status = ''
  const isAtRest = async () => {
    const answer = await server.call('GET', `/api/conversations/${talk.id}`)
    status = answer?.status === 200 ? (answer.body.execution_status as string) : `HTTP ${answer?.status}`
    return AT_REST.has(status) || (status === 'HTTP 404' && talk.deletion !== 'none')
  }
  await until(isAtRest, TURN_MS).catch((error: unknown) => {
    throw new Error(`the turn of ${talk.id} in ${talk.work} has not ended: ${status}: ${String(error)}`)
  })
}

/** Checks everything that the log and the files of a seed say. Returns what happened. */
export async function check(server: FaultyServer, workload: Workload): Promise<Outcomes> {
  const sums: Outcomes = { actions: 0, effects: 0, unknown: 0, approvals: 0, messages: 0, commands: 0, errors: [] }
  for (const talk of workload.talks) {
    if (talk.deletion === 'none') await checkTalk(server, talk, sums)
    else for (const [line, times] of await linesOf(talk)) expect(times, `${talk.id} executed ${line}`).toBe(1)
  }
  const written = await linesIn(workload.bashTrace)
  for (const command of workload.commands) await checkCommand(server, command, written.get(command.line) ?? 0, sums)
  return sums
}

async function checkTalk(server: FaultyServer, talk: Talk, sums: Outcomes): Promise<void> {
  if (talk.broken !== null) throw new Error(`the watcher of ${talk.id} failed`, { cause: talk.broken })
  const events = await eventsAfterStart(server, talk)
  const ids = events.map(({ id }) => id)
  await until(() => talk.seen.length >= ids.length, 30_000)
  // The step of a paused conversation may still add the result of its call.
  const seen = talk.seen.slice(0, ids.length)
  expect(
    seen.map(({ event }) => event.id),
    `events of ${talk.id}: received, and stored`,
  ).toEqual(ids)
  expect(
    seen.map(({ seq }) => seq),
    `seq of the events of ${talk.id}`,
  ).toEqual(ids.map((_, index) => index + 1))
  expect(new Set(ids).size, `ids of the events of ${talk.id}`).toBe(ids.length)

  for (const [id, state] of talk.messages) {
    const times = events.filter((event) => event.kind === 'MessageEvent' && event.id === id).length
    const isRight = state === 'open' ? times <= 1 : times === (state === 'stored' ? 1 : 0)
    expect(isRight, `message ${id} of ${talk.id}, ${state}, is stored ${times} times`).toBe(true)
  }
  sums.messages += talk.messages.size
  for (const batch of talk.approved) {
    const decided = events.filter(({ key, value }) => key === 'approval' && value.batch_id === batch)
    expect(decided.length, `approvals of batch ${batch} of ${talk.id}`).toBe(1)
  }
  sums.approvals += talk.approved.size
  await checkActions(server, talk, events, sums)
}

/**
 * The stored events. A message that was acknowledged during a start is in the record until the start has ended, so a start that was
 * interrupted is continued before.
 */
async function eventsAfterStart(server: FaultyServer, talk: Talk): Promise<any[]> {
  const isMissing = (events: readonly any[]) =>
    [...talk.messages].some(([id, state]) => state === 'stored' && !events.some((event) => event.id === id))
  const events = await storedEvents(server, talk)
  if (!isMissing(events)) return events
  for (const command of ['start', 'run']) await server.call('POST', `/api/conversations/${talk.id}/${command}`)
  await until(async () => !isMissing(await storedEvents(server, talk)), 30_000).catch(() => {
    throw new Error(`an acknowledged message of ${talk.id} is missing: ${JSON.stringify([...talk.messages])}`)
  })
  await untilTurnEnded(server, talk)
  return storedEvents(server, talk)
}

/** The line that an action writes; null for other actions. */
const lineOf = ({ action }: any): string | null => {
  if (action?.kind === 'FileEditorAction') return action.new_str ?? null
  return /^echo (L\d+) /.exec(action?.command ?? '')?.[1] ?? null
}

async function checkActions(server: FaultyServer, talk: Talk, events: readonly any[], sums: Outcomes): Promise<void> {
  const info = await server.call('GET', `/api/conversations/${talk.id}`)
  const status: string = info?.body.execution_status
  if (status === 'error') {
    const reason = events.findLast(({ kind }) => kind === 'ConversationErrorEvent')
    expect(reason, `reason why ${talk.id} ended with an error`).toBeDefined()
    sums.errors.push(`${reason.code}: ${reason.detail}`)
  }
  const lines = await linesOf(talk)
  const approved = new Set<string>()
  const actions = new Map<string, any>()
  const answers = new Map<string, any>()
  for (const event of events) {
    const about = `${talk.id} ${event.kind} ${event.id}`
    if (event.key === 'approval' && event.value.decision === 'accept')
      for (const id of event.value.action_ids) approved.add(id)
    if (event.kind === 'ActionEvent') actions.set(event.id, event)
    if (!['ObservationEvent', 'AgentErrorEvent', 'UserRejectObservation'].includes(event.kind)) continue
    const id = event.action_id ?? [...actions.values()].findLast((each) => each.tool_call_id === event.tool_call_id)?.id
    expect(answers.has(id), `${about} answers ${id} a second time`).toBe(false)
    answers.set(id, event)
    const isEffect = event.kind === 'ObservationEvent' && lineOf(actions.get(id)) !== null
    if (talk.isGuarded && isEffect) expect(approved.has(id), `${about}: ${id} was approved`).toBe(true)
  }
  const known = new Set<string>()
  for (const [id, action] of actions) {
    const line = lineOf(action)
    const answer = answers.get(id)
    if (answer === undefined && !MAY_HAVE_OPEN_CALLS.has(status))
      throw new Error(`${talk.id} is ${status}, and its call ${id} has no result`)
    if (line === null) continue
    expect(known.has(line), `${talk.id} stored the call of ${line} twice`).toBe(false)
    known.add(line)
    sums.actions += 1
    const times = lines.get(line) ?? 0
    const about = [talk.id, line, outcome(answer), times]
    if (times > 1 || (outcome(answer) === 'success' && times !== 1)) throw new Error(`executed: ${about.join(' ')}`)
    if (times > 0 && (outcome(answer) === 'rejected' || (talk.isGuarded && !approved.has(id))))
      throw new Error(`executed without approval: ${about.join(' ')}`)
    sums.effects += times
    if (outcome(answer) === 'unknown') sums.unknown += 1
  }
  for (const line of lines.keys())
    if (!known.has(line) && /^L\d+$/.test(line)) throw new Error(`${talk.id} executed ${line}, which is not stored`)
}

/** What the log says about a call. */
function outcome(answer: any): 'success' | 'unknown' | 'rejected' | 'failed' | 'open' {
  if (answer === undefined) return 'open'
  if (answer.kind === 'UserRejectObservation') return 'rejected'
  if (/not known|unknown/i.test(JSON.stringify(answer))) return 'unknown'
  if (answer.kind === 'AgentErrorEvent') return 'failed'
  const { exit_code, is_error } = answer.observation
  return (answer.tool_name === 'terminal' ? exit_code === 0 : !is_error) ? 'success' : 'failed'
}

async function checkCommand(server: FaultyServer, command: Command, times: number, sums: Outcomes): Promise<void> {
  expect(times, `executions of the bash command ${command.line}`).toBeLessThanOrEqual(1)
  sums.effects += times
  if (command.id === null) return
  sums.commands += 1
  const last = (await outputsOf(server, command)).filter(isLast)
  expect(last, `ends of the bash command ${command.line}`).toHaveLength(1)
  if (last[0]!.exit_code === 0) expect(times, `executions of the bash command ${command.line}`).toBe(1)
  if (/not known/.test(last[0]!.stderr ?? '')) sums.unknown += 1
}

/** Most seqs of one request. */
const SEQS = 500

type Output = { exit_code: number | null; stderr: string | null }

const isLast = ({ exit_code }: Output): boolean => exit_code !== null

async function outputsOf(server: FaultyServer, { id }: Command): Promise<Output[]> {
  const answer = await server.call('GET', `/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput`)
  return (answer?.body.items ?? []) as Output[]
}

/** The whole log, with the phases of the start. */
async function storedEvents(server: FaultyServer, { id }: Talk): Promise<any[]> {
  const events: any[] = []
  for (let isWhole = false; !isWhole;) {
    const range = `${events.length + 1}-${events.length + SEQS}`
    const answer = await server.call('GET', `/api/conversations/${id}/events/search?seqs=${range}`)
    if (answer?.status !== 200) throw new Error(`the events of ${id} are answered with ${answer?.status}`)
    events.push(...answer.body.items)
    isWhole = answer.body.items.length < SEQS
  }
  return events
}

/** How often each line occurs in the files that a conversation writes. */
async function linesOf({ work }: Talk): Promise<Map<string, number>> {
  return new Map([...(await linesIn(join(work, 'trace'))), ...(await linesIn(join(work, 'notes')))])
}

async function linesIn(path: string): Promise<Map<string, number>> {
  const times = new Map<string, number>()
  const text = await readFile(path, 'utf8').catch(() => '')
  for (const line of text.split('\n')) if (line !== '') times.set(line, (times.get(line) ?? 0) + 1)
  return times
}
